// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed_test

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/sealed"
	"github.com/yuba-dev/yuba/internal/testkit/s3test"
)

// An object is written once, by a real S3 server, and read back. A lock that the bucket cannot give is an error, and
// not an archive without one.
func TestObjectsAreWrittenOnce(t *testing.T) {
	s := s3test.New(t, "archives")
	for _, pair := range s.Environment() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	place := "s3://archives/team/a.archive?" + url.Values{"endpoint": {s.URL}, "region": {s3test.Region}, "use_path_style": {"true"}}.Encode()
	p := newParty(t)
	if err := seal(t, p).Store(t.Context(), place, time.Time{}); err != nil {
		t.Fatal(err)
	}
	before := s.Object(t, "team/a.archive")
	if err := seal(t, p).Store(t.Context(), place, time.Time{}); !errors.Is(err, sealed.ErrExists) {
		t.Errorf("written twice: %v", err)
	}
	if !bytes.Equal(before, s.Object(t, "team/a.archive")) {
		t.Error("the first archive was changed")
	}
	a, file, err := sealed.OpenPlace(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	if err := a.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if err := seal(t, p).Store(t.Context(), strings.Replace(place, "a.archive", "b.archive", 1), time.Now().Add(time.Hour)); err == nil {
		t.Error("a bucket without object lock has locked an archive")
	}
	s.CreateLocking(t, "locking")
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	if err := seal(t, p).Store(t.Context(), strings.Replace(place, "archives/team", "locking/team", 1), until); err != nil {
		t.Fatal(err)
	}
	at, mode, deletion := s.LockedUntil(t, "locking", "team/a.archive")
	if !at.Equal(until) || mode != "COMPLIANCE" || deletion == nil {
		t.Errorf("locked until %s (%s), want %s; a deletion says %v", at, mode, until, deletion)
	}
}
