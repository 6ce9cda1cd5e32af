// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"strings"
	"testing"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// People copy the records from here. What a resolver says cannot control their terminal.
func TestStatusListsTheRecordsThatPeopleCreate(t *testing.T) {
	p := &yubav1.Platform{}
	p.Status.Phases = []yubav1.PlatformPhaseStatus{{Name: "eu/dns", State: yubav1.PhaseWaiting, Message: "waits for DNS records"}}
	p.Status.Records = []yubav1.PlatformRecord{
		{Name: "acme.example.org", Type: "A", Addresses: []string{"192.0.2.1", "192.0.2.2"}, State: yubav1.RecordMissing, Message: "is missing\x1b[31m"},
		{Name: "*.acme.example.org", Type: "A", Addresses: []string{"192.0.2.1"}, State: yubav1.RecordPresent},
	}
	var texts []string
	for _, line := range lines(p, time.Now()) {
		texts = append(texts, line.text)
	}
	all := strings.Join(texts, "\n")
	want := "  DNS records that people create:\n  ? acme.example.org A 192.0.2.1 192.0.2.2  is missing"
	if !strings.Contains(all, want) || !strings.Contains(all, "\n  ✓ *.acme.example.org A 192.0.2.1\n") || strings.Contains(all, "\x1b") || strings.Count(all, "people create") != 1 {
		t.Errorf("%q", all)
	}
}
