// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package powerdns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// maxAnswer limits an answer, which is in memory as a whole. Servers without filters send a whole zone: one with 20 000
// names fits.
const maxAnswer = 4 << 20

// Client is a server's API.
type Client struct {
	// URL is the server's, with or without /api/v1.
	URL string
	// Key is the API key.
	Key  string
	HTTP *http.Client
}

// RRset are the records of a name with one type.
type RRset struct {
	// Name ends with a dot.
	Name string `json:"name"`
	Type string `json:"type"`
	TTL  int    `json:"ttl,omitempty"`
	// ChangeType is REPLACE or DELETE in changes.
	ChangeType string   `json:"changetype,omitempty"`
	Records    []Record `json:"records"`
}

// Record is one record.
type Record struct {
	Content  string `json:"content"`
	Disabled bool   `json:"disabled"`
}

// RefusedError means that the server answered, and refused.
type RefusedError struct {
	Status int
	Text   string
}

func (e *RefusedError) Error() string {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("the server refuses the API key (status %d)", e.Status)
	case http.StatusNotFound:
		return "the server does not know it (status 404): is it the URL of PowerDNS' API, with \"api=yes\"?"
	}
	return fmt.Sprintf("the server refuses (status %d): %s", e.Status, e.Text)
}

// ErrNoZone means that the server does not have a zone for a name.
var ErrNoZone = errors.New("the server does not have a zone for the name")

// Version returns the server's version, such as 4.7.3.
func (c *Client) Version(ctx context.Context) (string, error) {
	var server struct {
		Version string `json:"version"`
	}
	if err := c.do(ctx, http.MethodGet, "", nil, &server); err != nil {
		return "", fmt.Errorf("read the server's version: %w", err)
	}
	return shortened(server.Version, 40), nil
}

// Setting returns a setting of the server; empty if it does not have it.
func (c *Client) Setting(ctx context.Context, name string) (string, error) {
	var settings []struct{ Name, Value string }
	if err := c.do(ctx, http.MethodGet, "/config", nil, &settings); err != nil {
		return "", fmt.Errorf("read the server's settings: %w", err)
	}
	for _, s := range settings {
		if s.Name == name {
			return s.Value, nil
		}
	}
	return "", nil
}

// Zone returns the longest zone of the server that a name is in, without the final dot, or [ErrNoZone].
func (c *Client) Zone(ctx context.Context, host string) (string, error) {
	for name := strings.TrimPrefix(host, "*."); name != ""; {
		has, err := c.HasZone(ctx, name)
		if err != nil || has {
			return name, err
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return "", ErrNoZone
}

// HasZone reports whether the server has a zone.
func (c *Client) HasZone(ctx context.Context, zone string) (bool, error) {
	var zones []struct{ Name string }
	if err := c.do(ctx, http.MethodGet, "/zones?zone="+url.QueryEscape(zone+"."), nil, &zones); err != nil {
		return false, fmt.Errorf("look for the zone %s: %w", zone, err)
	}
	return slices.ContainsFunc(zones, func(z struct{ Name string }) bool { return strings.EqualFold(z.Name, zone+".") }), nil
}

// RRsets returns the record sets of a name, without the final dot.
func (c *Client) RRsets(ctx context.Context, zone, name string) (found []RRset, err error) {
	var answer struct{ RRsets []RRset }
	if err := c.do(ctx, http.MethodGet, zonePath(zone)+"?rrset_name="+url.QueryEscape(name+"."), nil, &answer); err != nil {
		return nil, fmt.Errorf("read the records of %s: %w", name, err)
	}
	for _, set := range answer.RRsets { // old servers do not filter, and others add sets without records
		if strings.EqualFold(set.Name, name+".") && len(set.Records) > 0 {
			found = append(found, set)
		}
	}
	return found, nil
}

// maxFound limits what a search finds.
const maxFound = 1000

// ErrTooMany means that a server has more records than can be read.
var ErrTooMany = fmt.Errorf("the server has more than %d records", maxFound)

// Below returns the record sets of all names below a name, of all zones, and the zones there as sets of type SOA.
func (c *Client) Below(ctx context.Context, name string) (found []RRset, err error) {
	var answer []struct {
		Name, Type, Content string
		TTL                 int
		ObjectType          string `json:"object_type"`
	}
	path := fmt.Sprintf("/search-data?max=%d&object_type=all&q=%s", maxFound, url.QueryEscape("*."+name))
	if err := c.do(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return nil, fmt.Errorf("look for records below %s: %w", name, err)
	}
	if len(answer) >= maxFound {
		return nil, fmt.Errorf("look for records below %s: %w", name, ErrTooMany)
	}
	for _, a := range answer {
		a.Name = strings.ToLower(strings.TrimSuffix(a.Name, ".")) + "."
		if a.ObjectType == "zone" {
			a.Type = "SOA"
		} else if a.ObjectType != "record" {
			continue
		}
		if !strings.HasSuffix(a.Name, "."+name+".") { // the text is in the content
			continue
		}
		at := slices.IndexFunc(found, func(r RRset) bool { return r.Name == a.Name && r.Type == a.Type })
		if at < 0 {
			at = len(found)
			found = append(found, RRset{Name: a.Name, Type: a.Type, TTL: a.TTL})
		}
		found[at].Records = append(found[at].Records, Record{Content: a.Content})
	}
	return found, nil
}

// Change writes record sets, all or none. A set without records is deleted.
func (c *Client) Change(ctx context.Context, zone string, sets []RRset) error {
	for i := range sets {
		sets[i].ChangeType = "REPLACE"
		if len(sets[i].Records) == 0 {
			sets[i].ChangeType, sets[i].Records = "DELETE", []Record{}
		}
	}
	if err := c.do(ctx, http.MethodPatch, zonePath(zone), map[string]any{"rrsets": sets}, nil); err != nil {
		return fmt.Errorf("write the records of %s in zone %s: %w", strings.TrimSuffix(sets[0].Name, "."), zone, err)
	}
	return nil
}

func zonePath(zone string) string { return "/zones/" + url.PathEscape(zone+".") }

// do sends a request about the server, and reads its answer.
func (c *Client) do(ctx context.Context, method, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	base := strings.TrimSuffix(strings.TrimRight(c.URL, "/"), "/api/v1") + "/api/v1/servers/localhost"
	r, err := http.NewRequestWithContext(ctx, method, base+path, content)
	if err != nil {
		return errors.New("the URL of the server is not valid")
	}
	r.Header.Set("X-API-Key", c.Key)
	r.Header.Set("Content-Type", "application/json")
	response, err := c.HTTP.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the URL
		}
		return fmt.Errorf("ask %s: %w", r.URL.Host, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer of %s: %w", r.URL.Host, err)
	case len(text) > maxAnswer:
		return fmt.Errorf("the answer of %s exceeds %d MiB: does its version of PowerDNS filter by rrset_name?", r.URL.Host, maxAnswer>>20)
	case response.StatusCode/100 != 2:
		return &RefusedError{response.StatusCode, reason(text)}
	case answer == nil:
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the answer of %s is not that of PowerDNS' API", r.URL.Host)
	}
	return nil
}

// reason is why a server refuses, in PowerDNS' own words. What other services answer is not shown: authors
// name the URL, and may not be allowed to read it.
func reason(text []byte) string {
	var answer struct{ Error string }
	if json.Unmarshal(text, &answer) != nil || answer.Error == "" {
		return "without a reason"
	}
	return shortened(answer.Error, 300)
}

// shortened makes foreign text fit for messages.
func shortened(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
