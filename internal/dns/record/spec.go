// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// maxAddresses limits the addresses of one family: PowerDNS ends code that runs too long, by default
// after 1000 instructions (lua-records-exec-limit).
const maxAddresses = 32

// Endpoint is one place that serves a name.
type Endpoint struct {
	Name string
	// Addresses are in their shortest form.
	Addresses        []netip.Addr
	Priority, Weight int
}

// Check is how endpoints are checked: by URL, or by Port if the URL is empty.
type Check struct {
	URL, Contains, UserAgent string
	Port                     int
	// Seconds and count; 0 is the server's default.
	Timeout, Interval, MinimumFailures int
}

// Spec is a valid name with its endpoints.
type Spec struct {
	Host      string
	TTL       int
	Placement yubav1.FailoverPlacement
	// Selector and WhenAllDown are never empty, except for placements that do not have them.
	Selector, WhenAllDown yubav1.FailoverSelector
	Endpoints             []Endpoint
	// Check is nil if all endpoints count as up.
	Check *Check
}

// Of returns the record of a published spec, or what is wrong with it. The API refuses most of it, but
// commands read files.
func Of(s *yubav1.FailoverRecordSpec) (Spec, error) {
	spec := Spec{Host: strings.TrimSuffix(strings.ToLower(s.Host), "."), TTL: int(s.TTL), Placement: s.Placement, Selector: s.Selector, WhenAllDown: s.WhenAllDown}
	if spec.TTL <= 0 {
		spec.TTL = 30
	}
	if err := validHost(spec.Host); err != nil {
		return Spec{}, err
	}
	if err := spec.addEndpoints(s.Endpoints); err != nil {
		return Spec{}, err
	}
	if s.Check != nil {
		check, err := checkOf(s.Check)
		if err != nil {
			return Spec{}, err
		}
		spec.Check = check
	}
	return spec, spec.complete()
}

// validHost refuses names that are not a host's.
func validHost(host string) error {
	labels := strings.Split(strings.TrimPrefix(host, "*."), ".")
	good := len(host) <= 240 && len(labels) > 1
	for _, label := range labels {
		good = good && label != "" && len(label) <= 63 && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && !strings.HasPrefix(label, "-") && !strings.HasSuffix(label, "-")
	}
	if !good {
		return fmt.Errorf("spec.host %q is not a DNS name such as www.example.org", host)
	}
	return nil
}

func (s *Spec) addEndpoints(list []yubav1.FailoverEndpoint) error {
	if len(list) == 0 {
		return fmt.Errorf("spec.endpoints is empty: an endpoint has a name and addresses")
	}
	whose := map[netip.Addr]string{}
	names := map[string]bool{}
	for _, e := range list {
		if e.Name == "" || names[e.Name] {
			return fmt.Errorf("spec.endpoints: the name %q is missing or used twice", e.Name)
		}
		names[e.Name] = true
		endpoint := Endpoint{Name: e.Name}
		if e.Priority != nil {
			endpoint.Priority = int(*e.Priority)
		}
		if e.Weight != nil {
			endpoint.Weight = int(*e.Weight)
		}
		for _, text := range e.Addresses {
			address, err := addressOf(text)
			if err != nil {
				return fmt.Errorf("endpoint %s: %w", e.Name, err)
			}
			if other, taken := whose[address]; taken {
				return fmt.Errorf("endpoint %s: the address %s is also one of endpoint %s: an address belongs to one endpoint", e.Name, address, other)
			}
			whose[address] = e.Name
			endpoint.Addresses = append(endpoint.Addresses, address)
		}
		if len(endpoint.Addresses) == 0 {
			return fmt.Errorf("endpoint %s has no addresses", e.Name)
		}
		s.Endpoints = append(s.Endpoints, endpoint)
	}
	return nil
}

// addressOf reads an address that PowerDNS writes in the same form.
func addressOf(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return address, fmt.Errorf("%q is not an IP address", text)
	}
	if address.Zone() != "" || address.Is4In6() || address.IsUnspecified() || address.IsMulticast() || address.IsLinkLocalUnicast() ||
		address.Is6() && !address.IsLoopback() && netip.MustParsePrefix("::/96").Contains(address) || address == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return address, fmt.Errorf("%s is not an address that clients can connect to", text)
	}
	return address, nil
}

func checkOf(c *yubav1.FailoverCheck) (*Check, error) {
	check := &Check{Timeout: int(c.TimeoutSeconds), Interval: int(c.IntervalSeconds), MinimumFailures: int(c.MinimumFailures)}
	switch {
	case c.HTTP != nil && c.TCP == nil:
		u, err := url.Parse(c.HTTP.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
			return nil, fmt.Errorf("spec.check.http.url is not a URL such as https://www.example.org/health, without a user")
		}
		if _, err := netip.ParseAddr(u.Hostname()); err == nil {
			return nil, fmt.Errorf("spec.check.http.url has the address %s: the server would check only this one, instead of each endpoint. Use a host name, such as spec.host", u.Hostname())
		}
		check.URL, check.Contains, check.UserAgent = u.String(), c.HTTP.Contains, c.HTTP.UserAgent
		if strings.ContainsFunc(check.UserAgent, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("spec.check.http.userAgent has control characters")
		}
	case c.TCP != nil && c.HTTP == nil && c.TCP.Port > 0 && c.TCP.Port < 1<<16:
		check.Port = int(c.TCP.Port)
	default:
		return nil, fmt.Errorf("spec.check needs either http with a url, or tcp with a port")
	}
	return check, nil
}

// complete fills in what the placement implies, and refuses what it cannot have.
func (s *Spec) complete() error {
	for _, selector := range []yubav1.FailoverSelector{s.Selector, s.WhenAllDown} {
		if selector != "" && !slices.Contains([]yubav1.FailoverSelector{yubav1.SelectAll, yubav1.SelectRandom, yubav1.SelectHashed}, selector) {
			return fmt.Errorf("%q is not a selector: use All, Random or Hashed", selector)
		}
	}
	if s.WhenAllDown != "" && s.Check == nil {
		return fmt.Errorf("spec.whenAllDown needs spec.check: without it, no endpoint is down")
	}
	for _, is4 := range []bool{true, false} {
		if n := len(flat(s.Endpoints, is4)); n > maxAddresses {
			return fmt.Errorf("the endpoints have %d addresses of one family; PowerDNS ends records with more than about %d", n, maxAddresses)
		}
	}
	if err := s.suits(); err != nil {
		return err
	}
	if s.Selector == "" && s.Placement == yubav1.PlacementWeighted {
		s.Selector = yubav1.SelectHashed
	}
	if s.Placement != yubav1.PlacementGeo {
		s.Selector = or(s.Selector, yubav1.SelectAll)
		s.WhenAllDown = or(s.WhenAllDown, yubav1.SelectAll)
	}
	return nil
}

func or(a, b yubav1.FailoverSelector) yubav1.FailoverSelector {
	if a == "" {
		return b
	}
	return a
}

// suits refuses fields that the placement does not have.
func (s *Spec) suits() error {
	switch s.Placement {
	case yubav1.PlacementActiveActive:
	case yubav1.PlacementActivePassive:
		if s.Check == nil {
			return fmt.Errorf("placement ActivePassive needs spec.check: without it, nothing fails over")
		}
		if s.Check.URL == "" && s.WhenAllDown != "" {
			return fmt.Errorf("placement ActivePassive with a TCP check answers with the primary endpoints while all are down: remove spec.whenAllDown")
		}
	case yubav1.PlacementGeo:
		if s.Selector != "" {
			return fmt.Errorf("placement Geo selects the closest endpoint: remove spec.selector")
		}
	case yubav1.PlacementWeighted:
		if s.Selector == yubav1.SelectAll || s.WhenAllDown != "" {
			return fmt.Errorf("placement Weighted answers with one endpoint by its weight: spec.selector is Hashed or Random, and spec.whenAllDown is not set")
		}
		return s.weighable()
	case "":
		return fmt.Errorf("spec.placement is missing: use ActivePassive, ActiveActive, Geo or Weighted")
	default:
		return fmt.Errorf("spec.placement: %q is not a placement: use ActivePassive, ActiveActive, Geo or Weighted", s.Placement)
	}
	return nil
}

// weighable refuses weights that no answer can have.
func (s *Spec) weighable() error {
	sum := 0
	for _, e := range s.Endpoints {
		if e.Weight < 0 || e.Weight > 10000 {
			return fmt.Errorf("endpoint %s: the weight %d is not between 0 and 10000", e.Name, e.Weight)
		}
		if len(of(e.Addresses, true)) > 1 || len(of(e.Addresses, false)) > 1 {
			return fmt.Errorf("endpoint %s: with placement Weighted, an endpoint has one IPv4 and one IPv6 address at most; make two endpoints", e.Name)
		}
		sum += e.Weight
	}
	if sum == 0 {
		return fmt.Errorf("all weights are 0: the name would not have an address")
	}
	return nil
}

// of returns the addresses of a family.
func of(addresses []netip.Addr, is4 bool) (found []netip.Addr) {
	for _, a := range addresses {
		if a.Is4() == is4 {
			found = append(found, a)
		}
	}
	return found
}

// flat returns the addresses of a family of all endpoints.
func flat(endpoints []Endpoint, is4 bool) (found []netip.Addr) {
	for _, e := range endpoints {
		found = append(found, of(e.Addresses, is4)...)
	}
	return found
}
