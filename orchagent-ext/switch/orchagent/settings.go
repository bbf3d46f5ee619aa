// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
)

// initialized is the key of CONFIG_DB that SONiC sets to 1 when it has loaded the database.
const initialized = "CONFIG_DB_INITIALIZED"

// longestLoading is how long the operator's rows count that CONFIG_DB had before SONiC emptied it.
const longestLoading = 5 * time.Minute

// settings are the operator's rows that methods depend on. While SONiC loads CONFIG_DB again they are those of
// before: no method ends with them.
type settings struct {
	loaded      bool      // SONiC has loaded CONFIG_DB
	lostAt      time.Time // that it began to load it again; zero: it has not
	hash, sflow map[string]string
}

// take takes the rows as they are, with the value of [initialized], and returns those that count.
func (s *settings) take(value string, hash, sflow map[string]string, now time.Time) (map[string]string, map[string]string) {
	s.loaded = s.loaded || value == "1"
	if s.loaded && value != "1" {
		if s.lostAt.IsZero() {
			s.lostAt = now
		}
		if now.Sub(s.lostAt) < longestLoading {
			return s.hash, s.sflow
		}
	} else {
		s.lostAt = time.Time{}
	}
	s.hash, s.sflow = hash, sflow
	return hash, sflow
}

// read is take of CONFIG_DB.
func (s *settings) read(config *sonicdb.DB, now time.Time) (hash, sflow map[string]string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	value, err := config.Text(ctx, initialized)
	if err != nil {
		return nil, nil, err
	}
	found, err := get(config, rowHash, rowSFlow)
	if err != nil {
		return nil, nil, err
	}
	hash, sflow = s.take(value, found[0], found[1], now)
	return hash, sflow, nil
}
