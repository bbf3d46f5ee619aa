// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
	"io"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
)

// unpacked is the most octets that a compressed request has without compression: requests are
// bounded as they come in (see [Requests]), and gzip makes up to a thousand octets of one.
const unpacked = 256 << 10

// AcceptGzip lets the gRPC servers of the process accept requests that are compressed by gzip,
// and answer them so (gRPC "Compression"). It is called before the first server is made.
func AcceptGzip() {
	whole := encoding.GetCompressor(gzip.Name)
	if _, bounded := whole.(boundedGzip); !bounded {
		encoding.RegisterCompressor(boundedGzip{whole})
	}
}

// boundedGzip is gzip with requests of limited size.
type boundedGzip struct{ encoding.Compressor }

// Decompress implements [encoding.Compressor].
func (g boundedGzip) Decompress(r io.Reader) (io.Reader, error) {
	z, err := g.Compressor.Decompress(r)
	if err != nil {
		return nil, err
	}
	return &boundedReader{z, unpacked}, nil
}

// boundedReader reads so many octets more.
type boundedReader struct {
	io.Reader
	left int
}

// Read implements [io.Reader], with an error beyond the bound.
func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("a compressed request has more than %d KiB: send it without compression", unpacked>>10)
	}
	return n, err
}
