// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServingHosts(t *testing.T) {
	always := []string{"localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	for sentence, test := range map[string]struct {
		address    string
		advertised []string
		host       string
		extra      []string
	}{
		"loopback needs nothing more":                        {"127.0.0.1:0", nil, "127.0.0.1", nil},
		"everywhere is reached by loopback":                  {"0.0.0.0:0", nil, "127.0.0.1", nil},
		"everywhere on both protocols as well":               {"[::]:0", nil, "127.0.0.1", nil},
		"advertised hosts are added once":                    {"127.0.0.1:0", []string{"yuba.lan", "localhost", "yuba.lan"}, "127.0.0.1", []string{"yuba.lan"}},
		"another address of this machine is added by itself": {"127.0.0.2:0", nil, "127.0.0.2", []string{"127.0.0.2"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			listener, err := listen(test.address)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			if host, port := reachable(listener); host != test.host || port == 0 {
				t.Errorf("reachable at %s port %d, want %s and a port", host, port, test.host)
			}
			want := slices.Concat(always, test.extra)
			if diff := cmp.Diff(want, servingHosts(listener, test.advertised)); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheCertificateHoldsForHostsOfALaterStart(t *testing.T) {
	options := testOptions(t.TempDir())
	first, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := greet(first, "yuba.example.com"); err == nil {
		t.Error("the certificate holds for a host that nobody named")
	}
	stop(t, first)
	options.AdvertiseHosts = []string{"yuba.example.com", "192.0.2.7"}
	second := startIn(t, options)
	for _, host := range append(options.AdvertiseHosts, "localhost", "127.0.0.1") {
		if err := greet(second, host); err != nil {
			t.Errorf("as %s: %v", host, err)
		}
	}
}

// greet opens a connection to the API as a client does that knows it by a name or address.
func greet(p *ControlPlane, host string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.CA())
	connection, err := tls.Dial("tcp", p.Address(), &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12})
	if err != nil {
		return err
	}
	return connection.Close()
}
