// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/platform/progress"
)

func TestAPartOfALogIsBounded(t *testing.T) {
	p := part{skip: 3}
	for _, text := range []string{"ab", "cde", "f"} {
		if n, err := p.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := p.kept.String(); got != "def" || p.dropped != 0 {
		t.Errorf("%q, %d bytes left out", got, p.dropped)
	}
	if _, err := p.Write(bytes.Repeat([]byte("x"), maxPlatformLog)); err != nil {
		t.Fatal(err)
	}
	if p.kept.Len() != maxPlatformLog || p.dropped != 3 {
		t.Errorf("%d bytes are kept, %d left out", p.kept.Len(), p.dropped)
	}
}

func TestTheNewestEventsAreKept(t *testing.T) {
	var events []progress.Event
	for i := range maxPlatformEvents + 5 {
		events = append(events, progress.Event{Time: time.Unix(int64(maxPlatformEvents+5-i), 0)})
	}
	got := newest(events)
	if len(got) != maxPlatformEvents || got[0].Time.Unix() != 6 || got[len(got)-1].Time.Unix() != int64(maxPlatformEvents+5) {
		t.Errorf("%d events from %v to %v", len(got), got[0].Time, got[len(got)-1].Time)
	}
}

func TestFewReadPlatformsAtATime(t *testing.T) {
	h := &Handler{}
	var leave func()
	for range maxPlatformStreams {
		var err error
		if leave, err = h.enterPlatform(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.enterPlatform(); err == nil {
		t.Error("one too many is let in")
	}
	leave()
	if _, err := h.enterPlatform(); err != nil {
		t.Errorf("after one has left: %v", err)
	}
}
