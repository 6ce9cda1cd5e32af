// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// configuration says which resolvers this machine asks.
const configuration = "/etc/resolv.conf"

// Example is a name that a name answers for: a wildcard is not asked for itself.
func Example(name string) string {
	if below, wild := strings.CutPrefix(name, "*."); wild {
		return "yuba-verifies." + below
	}
	return name
}

// Check asks a resolver, HOST:PORT, for records as users do, and says what is wrong with the answer; empty if it has exactly
// the addresses. Without a resolver, it asks the machine's own.
func Check(ctx context.Context, dialer *net.Dialer, resolver, name, kind string, addresses []string) (wrong string, err error) {
	if resolver == "" {
		if resolver, err = own(); err != nil {
			return "", err
		}
	}
	answer, err := ask(ctx, dialer, resolver, Example(name), kind, true)
	if err != nil {
		return "", err
	}
	got := make([]string, len(answer.Addresses))
	for i, a := range answer.Addresses {
		got[i] = a.String()
	}
	slices.Sort(got)
	switch {
	case answer.Code == "SERVFAIL" || answer.Code == "REFUSED":
		return "", fmt.Errorf("the resolver %s answers %s for %s", resolver, answer.Code, name)
	case len(got) == 0:
		return "is missing", nil
	case !slices.Equal(got, slices.Sorted(slices.Values(addresses))):
		return "is " + strings.Join(got, ","), nil
	}
	return "", nil
}

// own is the first resolver of this machine.
func own() (string, error) {
	config, err := dns.ClientConfigFromFile(configuration)
	if err == nil && len(config.Servers) == 0 {
		err = errors.New("it names no server")
	}
	if err != nil {
		return "", fmt.Errorf("find the resolver of this machine in %s: %w", configuration, err)
	}
	return net.JoinHostPort(config.Servers[0], config.Port), nil
}
