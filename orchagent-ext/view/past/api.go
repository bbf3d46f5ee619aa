// SPDX-License-Identifier: Apache-2.0

package past

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/yang/text"
)

// mostAnswer bounds an answer, octets. 128 switches with 2,500 series each have some 100 MB.
const mostAnswer = 512 << 20

// api is Prometheus' HTTP API. The client of client_golang has parsers of JSON and answers of any size.
type api struct {
	base   *url.URL
	client *http.Client
}

// newAPI returns the API at a URL.
func newAPI(address string) (*api, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no URL of a Prometheus, such as http://127.0.0.1:9090", text.Cut(address, longest))
	}
	u.RawQuery, u.Fragment = "", ""
	return &api{u, &http.Client{Timeout: longestQuery}}, nil
}

// longestQuery is how long an answer may take: Prometheus ends a query then.
const longestQuery = 2 * time.Minute

// longest is how much of a foreign text an error has, octets.
const longest = 256

// point is a value at a time, ms since 1970.
type point struct {
	at    int64
	value float64
}

// UnmarshalJSON implements [json.Unmarshaler]: [1435781451.781, "1"].
func (p *point) UnmarshalJSON(b []byte) error {
	b, open := bytes.CutPrefix(b, []byte("["))
	b, closed := bytes.CutSuffix(b, []byte("]"))
	at, value, two := bytes.Cut(b, []byte(","))
	seconds, err := strconv.ParseFloat(string(bytes.TrimSpace(at)), 64)
	if err != nil || !open || !closed || !two {
		return errors.New("a point must be a time and a value")
	}
	p.at = time.UnixMicro(int64(seconds * 1e6)).Add(time.Millisecond / 2).UnixMilli()
	p.value, err = strconv.ParseFloat(strings.Trim(string(bytes.TrimSpace(value)), `"`), 64)
	if err != nil {
		return errors.New("a value must be a number")
	}
	return nil
}

// series are the points of one metric with labels.
type series struct {
	Metric map[string]string `json:"metric"`
	Values []point           `json:"values"`
}

// matrix asks for a query's series with their points.
func (a *api) matrix(ctx context.Context, path string, args url.Values) ([]series, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base.JoinPath("api/v1", path).String(), strings.NewReader(args.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	reply, err := a.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	if kind, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type")); kind != "application/json" {
		return nil, fmt.Errorf("%s: it answers %s, and no JSON: is it a Prometheus?", a.base.Redacted(), text.Printable(text.Cut(reply.Status, longest)))
	}
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			Type   string          `json:"resultType"`
			Result json.RawMessage `json:"result"`
		} `json:"data"`
	}
	body := &io.LimitedReader{R: reply.Body, N: mostAnswer}
	switch err := json.NewDecoder(body).Decode(&answer); {
	case body.N == 0:
		return nil, fmt.Errorf("%s: the answer has more than %d MiB", a.base.Redacted(), mostAnswer>>20)
	case err != nil:
		return nil, fmt.Errorf("%s: read the answer: %w", a.base.Redacted(), err)
	case answer.Status != "success":
		return nil, fmt.Errorf("%s: %s", a.base.Redacted(), text.Printable(text.Cut(answer.Error, longest)))
	case answer.Data.Type != "matrix":
		return nil, fmt.Errorf("%s: the answer is a %q, and no matrix", a.base.Redacted(), text.Cut(answer.Data.Type, longest))
	}
	var all []series
	if err := json.Unmarshal(answer.Data.Result, &all); err != nil {
		return nil, fmt.Errorf("%s: read the answer: %w", a.base.Redacted(), err)
	}
	return all, nil
}

// raw asks for the points of a selector that were scraped in a span before a time.
func (a *api) raw(ctx context.Context, selector string, span time.Duration, at time.Time) ([]series, error) {
	return a.matrix(ctx, "query", url.Values{"query": {fmt.Sprintf("%s[%dms]", selector, span.Milliseconds())}, "time": {stamp(at)}})
}

// between asks for the values of a query at steps.
func (a *api) between(ctx context.Context, query string, from, to time.Time, step time.Duration) ([]series, error) {
	return a.matrix(ctx, "query_range", url.Values{"query": {query}, "start": {stamp(from)}, "end": {stamp(to)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)}})
}

// stamp is a time as the API takes it, to the millisecond.
func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
