// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package powerdns_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/dns/powerdns"
)

const key = "the-api-key"

// answering is a server that answers every request in one way.
func answering(t *testing.T, status int, body string) *powerdns.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != key {
			t.Error("a request has no API key")
		}
		w.WriteHeader(status)
		w.Write([]byte(body)) //nolint:errcheck // the client may have enough
	}))
	t.Cleanup(s.Close)
	return &powerdns.Client{URL: s.URL + "/api/v1/", Key: key, HTTP: &http.Client{Timeout: 10 * time.Second}}
}

// Tests with a real PowerDNS are in test/services/dns. These are of servers that do not behave.
func TestHostileAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		says   string
		never  string
	}{
		"the key is refused":                   {401, "Unauthorized", "refuses the API key", key},
		"PowerDNS says why":                    {422, `{"error": "RRset www.example.com. IN LUA: Name is out of zone"}`, "Name is out of zone", key},
		"its text cannot control a terminal":   {422, `{"error": "a\u001b[31mred\nline"}`, "a [31mred line", "\x1b"},
		"its text is short":                    {422, `{"error": "` + strings.Repeat("x", 10000) + `"}`, "xxx…", strings.Repeat("x", 400)},
		"what others answer is not shown":      {500, "internal: password=hunter2", "without a reason", "hunter2"},
		"a page instead of the API":            {200, "<html>password=hunter2</html>", "is not that of PowerDNS' API", "hunter2"},
		"a redirect is not followed to others": {302, "", "status 302", key},
		"a zone without end":                   {200, `{"rrsets": [` + strings.Repeat(" ", 4<<20), "exceeds 4 MiB", key},
		"no API":                               {404, "Not Found", "api=yes", key},
	} {
		t.Run(name, func(t *testing.T) {
			c := answering(t, test.status, test.body)
			_, err := c.RRsets(context.Background(), "example.org", "www.example.org")
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), test.never) {
				t.Errorf("want an error with %q and without %q, got %v", test.says, test.never, err)
			}
			if err := c.Change(context.Background(), "example.org", []powerdns.RRset{{Name: "www.example.org.", Type: "LUA"}}); test.status != 200 && err == nil {
				t.Error("a change that was refused succeeds")
			}
		})
	}
}

func TestZones(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := "[]"
		if zone := r.URL.Query().Get("zone"); zone == "example.org." || zone == "sub.example.org." {
			answer = `[{"name": "` + zone + `"}]`
		}
		w.Write([]byte(answer)) //nolint:errcheck // the client reads all
	}))
	defer s.Close()
	c := &powerdns.Client{URL: s.URL, Key: key, HTTP: &http.Client{Timeout: 10 * time.Second}}
	for host, want := range map[string]string{"www.example.org": "example.org", "example.org": "example.org", "a.b.sub.example.org": "sub.example.org", "*.sub.example.org": "sub.example.org", "www.example.com": ""} {
		got, err := c.Zone(context.Background(), host)
		if got != want || (want == "") != errors.Is(err, powerdns.ErrNoZone) {
			t.Errorf("the zone of %s is %q (%v), want %q", host, got, err, want)
		}
	}
}
