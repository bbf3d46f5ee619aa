// SPDX-License-Identifier: Apache-2.0

package placement

// windows are the times over which the rates of all flows are measured. They end for all flows at
// once, so that these saw the same bursts.
type windows struct {
	octets uint64 // of all flows since the last look
	looked int64
	loud   int64 // when flows sent last
	begun  int64 // the window
	number int64 // of windows that ended
}

// quietShare is the part of the mean rate below which all flows pause.
const quietShare = 0.05

// add adds octets of a flow.
func (w *windows) add(octets uint64) { w.octets += octets }

// end reports whether the window ends now, at a look: when all flows are idle, or after twice
// the time. A shorter pause may be one within a burst, of which large flows then have less than
// their share. sum is the rate of all flows, in octets/s.
func (w *windows) end(now int64, sum float64, c *Config) bool {
	least := c.WindowNS
	if least == 0 {
		return false
	}
	if now < w.loud || float64(w.octets)*1e9 > quietShare*sum*float64(now-w.looked) {
		w.loud = now
	}
	quiet := now-w.loud >= c.IdleNS
	w.octets, w.looked = 0, now
	if passed := now - w.begun; passed >= 0 && (passed < least || passed < 2*least && !quiet) {
		return false
	}
	w.begun, w.number = now, w.number+1
	return true
}
