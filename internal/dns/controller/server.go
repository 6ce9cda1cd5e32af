// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/connect"
	"github.com/yuba-dev/yuba/internal/dns/decide"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/dns/record"
	"github.com/yuba-dev/yuba/internal/dns/resolve"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// timeout bounds a question.
const timeout = connect.Timeout

// server is the PowerDNS server of a record.
type server struct {
	*powerdns.Client
	nameserver string
}

// server connects to a server, with a Secret of a namespace.
func (r *Reconciler) server(ctx context.Context, namespace, address, named string) (*server, error) {
	c, nameserver, err := connect.To(ctx, r.Direct, namespace, "spec.publish.powerDNS", address, named)
	var invalid *connect.InvalidError
	if errors.As(err, &invalid) {
		return nil, &problem{yubav1.ReasonRecordInvalid, err}
	}
	if err != nil {
		return nil, err
	}
	return &server{Client: c, nameserver: nameserver}, nil
}

// asks sets where the server answers, if it is said.
func (s *server) asks(nameserver string) {
	if nameserver != "" {
		s.nameserver = nameserver
	}
}

// lock waits until nobody else writes to a server, and returns what ends it.
func (r *Reconciler) lock(url string) (unlock func()) {
	lock, _ := r.writing.LoadOrStore(url, &sync.Mutex{})
	mutex := lock.(*sync.Mutex) //nolint:forcetypeassert // nothing else is stored
	mutex.Lock()
	return mutex.Unlock
}

// warnings says which options a server's version does not have.
func (s *server) warnings(spec *yubav1.FailoverRecordSpec, is string) (all []string) {
	if c := spec.Check; c != nil && (c.IntervalSeconds > 0 || c.MinimumFailures > 1) && older(is, 5) {
		all = append(all, fmt.Sprintf("PowerDNS %s ignores intervalSeconds and minimumFailures: they need version 5", is))
	}
	if u, err := url.Parse(s.URL); err == nil && u.Scheme == "http" {
		if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.IsLoopback() {
			all = append(all, "the API key is sent without encryption: spec.publish.powerDNS.url is not https")
		}
	}
	return all
}

// older reports whether a version is below a major one. Unknown ones are not.
func older(text string, major int) bool {
	first, _, _ := strings.Cut(text, ".")
	is, err := strconv.Atoi(first)
	return err == nil && is < major
}

// knowsPlaces checks that pickclosest can work: without the geoip backend, it answers randomly.
func (s *server) knowsPlaces(ctx context.Context) error {
	launch, err := s.Setting(ctx, "launch")
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(strings.Split(launch, ","), func(b string) bool { return strings.HasPrefix(strings.TrimSpace(b), "geoip") }) {
		return problemf(yubav1.ReasonRecordInvalid, "placement Geo needs the geoip backend, and the server does not have it (launch=%s). Add geoip with a database to its configuration, or use another placement", launch)
	}
	return nil
}

// zone returns the zone that has the record.
func (s *server) zone(ctx context.Context, f *yubav1.FailoverRecord) (string, error) {
	zone := f.Spec.Publish.PowerDNS.Zone
	if zone == "" {
		found, err := s.Zone(ctx, f.Spec.Host)
		if errors.Is(err, powerdns.ErrNoZone) {
			return "", problemf(yubav1.ReasonRecordNoZone, "the server has no zone for %s. Create the zone on the server", f.Spec.Host)
		}
		return found, err
	}
	if f.Spec.Host != zone && !strings.HasSuffix(f.Spec.Host, "."+zone) {
		return "", problemf(yubav1.ReasonRecordInvalid, "%s is not in the zone %s of spec.publish.powerDNS", f.Spec.Host, zone)
	}
	has, err := s.HasZone(ctx, zone)
	if err == nil && !has {
		err = problemf(yubav1.ReasonRecordNoZone, "the server does not have the zone %s. Create the zone on the server", zone)
	}
	return zone, err
}

// facts reads what the server has for a name.
func (s *server) facts(ctx context.Context, f *yubav1.FailoverRecord, at yubav1.FailoverPlace) (decide.Facts, error) {
	facts := decide.Facts{Host: f.Spec.Host, Owner: decide.Owner(at.OwnerID, f.Namespace, f.Name), Place: markOf(at),
		UID: string(f.UID), Writes: writesAt(&f.Status, at)}
	for _, name := range []string{f.Spec.Host, decide.RegistrationOf(f.Spec.Host)} {
		sets, err := s.RRsets(ctx, at.Zone, name)
		if err != nil {
			return facts, err
		}
		for _, set := range sets {
			there := decide.RRset{Name: name, Type: set.Type, TTL: set.TTL}
			for _, rec := range set.Records {
				there.Contents = append(there.Contents, rec.Content)
			}
			facts.There = append(facts.There, there)
		}
	}
	return facts, nil
}

// change writes what was decided.
func (s *server) change(ctx context.Context, zone string, changes []decide.RRset) error {
	if len(changes) == 0 {
		return nil
	}
	sets := make([]powerdns.RRset, len(changes))
	for i, c := range changes {
		sets[i] = powerdns.RRset{Name: c.Name + ".", Type: c.Type, TTL: c.TTL}
		for _, content := range c.Contents {
			sets[i].Records = append(sets[i].Records, powerdns.Record{Content: content})
		}
	}
	return s.Change(ctx, zone, sets)
}

// verify asks the server for the name, and returns its addresses of all families.
func (s *server) verify(ctx context.Context, spec record.Spec, records []record.Record) (all []netip.Addr, err error) {
	var known []netip.Addr
	for _, e := range spec.Endpoints {
		known = append(known, e.Addresses...)
	}
	host := spec.Host
	if below, wild := strings.CutPrefix(host, "*."); wild {
		host = "yuba-verifies." + below
	}
	for _, rec := range records {
		answer, err := resolve.Ask(ctx, outbound.Dialer(timeout), s.nameserver, host, rec.Answers)
		if err != nil {
			return nil, problemf(yubav1.ReasonRecordUnverified, "the record is written, but cannot be verified: %w. Does spec.publish.powerDNS.nameserver say where the server answers?", err)
		}
		if answer.Code != "NOERROR" || len(answer.Addresses) == 0 {
			return nil, problemf(yubav1.ReasonRecordUnverified,
				"the record is written, but %s answers %s with %d addresses to a question for %s of %s. Does the server have enable-lua-records=yes?", s.nameserver, answer.Code, len(answer.Addresses), rec.Answers, host)
		}
		for _, a := range answer.Addresses {
			if !slices.Contains(known, a) {
				return nil, problemf(yubav1.ReasonRecordUnverified, "the record is written, but %s answers %s for %s, which is not an address of an endpoint: is another server or record asked?", s.nameserver, a, host)
			}
		}
		all = append(all, answer.Addresses...)
	}
	return all, nil
}
