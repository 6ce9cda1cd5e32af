// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

const (
	// connectPatience limits connecting and the beginning of an answer: tofu waits 10 s for metadata.
	connectPatience = 8 * time.Second
	// redirects is the number of redirects to follow; releases on GitHub use one or two.
	redirects = 5
)

// privateError means that a host that no administrator named, with this port, has an address in this
// network.
type privateError struct{ host string }

// Is makes the error one of [offer.ErrRefused].
func (e *privateError) Is(target error) bool { return target == offer.ErrRefused }

func (e *privateError) Error() string {
	return fmt.Sprintf("%s has an address on this machine or in a private network. If it is meant to be mirrored, or to serve files of a mirrored registry, allow it by its exact name and port: %s/*/*", e.host, e.host)
}

// errNotTLS means that a redirect leaves TLS.
var errNotTLS = errors.New("it redirects to a URL that is not https://")

// client returns a client for metadata and downloads, which have deadlines of their own.
func (o Options) client(named []string) *http.Client {
	// Only what an administrator named may have private addresses, or an origin could lead the mirror to
	// whatever else listens on those machines: in service discovery, in answers and in redirects.
	g := &outbound.Gate{Named: named, Connect: connectPatience, Refused: func(host string) error { return &privateError{host} }}
	t := outbound.Transport(outbound.Options{Connect: connectPatience, Roots: o.Roots})
	g.Limit(t)
	// Metadata of a dozen providers come from the same host.
	t.DisableKeepAlives, t.MaxIdleConnsPerHost, t.IdleConnTimeout = false, 8, 30*time.Second
	follow := outbound.Follow(redirects)
	return &http.Client{Transport: t, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if next.URL.Scheme != "https" {
			return errNotTLS
		}
		return follow(next, before)
	}}
}

// explain describes a network error in our own words, see [outbound.Explain].
func explain(err error) error {
	var private *privateError
	if errors.As(err, &private) {
		return private
	}
	if errors.Is(err, errNotTLS) {
		return errNotTLS
	}
	return errors.New(outbound.Explain(err))
}
