// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

// newCluster is a new Vault of some servers.
func newCluster(t *testing.T, n int) (*birth, []*vaulttest.Member) {
	t.Helper()
	servers, authority := vaulttest.Cluster(t, n)
	b := &birth{T: t, news: &bytes.Buffer{}}
	var members []string
	for _, m := range servers[1:] {
		members = append(members, m.URL)
	}
	b.options = Options{Address: servers[0].URL, Members: members, Authorities: authority, KeyFile: filepath.Join(t.TempDir(), "keys.json"),
		News: func(format string, args ...any) { fmt.Fprintf(b.news, format+"\n", args...) }}
	for range 3 {
		identity, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		b.identities = append(b.identities, identity)
		b.options.Recipients = append(b.options.Recipients, identity.Recipient())
		b.options.RecipientTexts = append(b.options.RecipientTexts, identity.Recipient().String())
	}
	return b, servers
}

// leader is which server the others follow, as one of them says.
func (b *birth) leader(asked string) string {
	b.Helper()
	vault, err := newAPI(asked, b.options.Authorities)
	if err != nil {
		b.Fatal(err)
	}
	var answer struct {
		Address string `json:"leader_address"`
	}
	err = awaiting(b.Context(), readyPatience, func() error {
		if err := vault.call(b.Context(), http.MethodGet, "sys/leader", nil, &answer); err != nil {
			return err
		}
		if answer.Address == "" {
			return errors.New("there is no leader")
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return answer.Address
}

// Three servers become one Vault: all of them are unsealed with the same keys, and vote. It survives the loss of its leader, and a
// restarted server is unsealed by the same command with the identities of enough recipients.
func TestAVaultOfThreeServers(t *testing.T) {
	b, servers := newCluster(t, 3)
	out, err := b.run()
	if err != nil || out.Verb != VerbInit || out.Members != 2 || !out.RootTokenRevoked || out.Sealed {
		t.Fatalf("%+v %v\n%s", out, err, b.news)
	}
	if says := b.news.String(); !strings.Contains(says, "All 3 servers of Vault vote") {
		t.Errorf("it says %s", says)
	}
	if out, err := b.run(); err != nil || out.Verb != VerbNothing || out.Members != 2 {
		t.Errorf("again: %+v %v", out, err)
	}
	// The leader is lost: another one takes its place.
	lost := slices.IndexFunc(servers, func(m *vaulttest.Member) bool { return m.URL == b.leader(servers[0].URL) })
	if lost < 0 {
		t.Fatalf("the leader %s is none of the servers", b.leader(servers[0].URL))
	}
	other := servers[(lost+1)%3]
	servers[lost].Stop()
	vault, err := newAPI(other.URL, b.options.Authorities)
	if err != nil {
		t.Fatal(err)
	}
	err = awaiting(t.Context(), readyPatience, func() error {
		if is := b.leader(other.URL); is == servers[lost].URL {
			return errors.New("the lost server still leads")
		}
		return vault.awaitReady(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	// It starts again, sealed.
	servers[lost].Start()
	var refused *RefusedError
	if _, err := b.run(b.with(1)); !errors.As(err, &refused) || !strings.Contains(err.Error(), servers[lost].URL) || !strings.Contains(err.Error(), "identities") {
		t.Errorf("a sealed server and one of two identities: %v", err)
	}
	out, err = b.run(b.with(2))
	if err != nil || out.Verb != VerbNothing || out.Members != 2 || out.Sealed {
		t.Fatalf("unsealed again: %+v %v", out, err)
	}
	for _, m := range servers {
		server, err := newAPI(m.URL, b.options.Authorities)
		if err != nil {
			t.Fatal(err)
		}
		if is, err := server.status(t.Context()); err != nil || is.Sealed {
			t.Errorf("%s: %+v %v", m.URL, is, err)
		}
	}
}

// A call that ends after the first server is unsealed is continued, and a server that is of another Vault is refused.
func TestAClusterIsContinuedAndKeepsOthersOut(t *testing.T) {
	b, servers := newCluster(t, 3)
	if _, err := b.run(killedAfter("unsealed")); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	out, err := b.run(b.with(2))
	if err != nil || out.Verb != VerbResume || out.Members != 2 || !out.RootTokenRevoked {
		t.Fatalf("%+v %v", out, err)
	}
	// Another server of the same Vault may be named first.
	out, err = b.run(func(o *Options) {
		o.Address, o.Members = servers[2].URL, []string{servers[0].URL, servers[1].URL}
	})
	if err != nil || out.Verb != VerbNothing {
		t.Errorf("another one first: %+v %v", out, err)
	}
	if _, err := b.run(func(o *Options) { o.Members = []string{servers[0].URL + "/"} }); err == nil || !strings.Contains(err.Error(), "named twice") {
		t.Errorf("one server twice: %v", err)
	}
	stranger := vaulttest.New(t)
	servers[1].Stop() // so that one is sealed
	servers[1].Start()
	_, err = b.run(b.with(2), func(o *Options) { o.Members = []string{servers[1].URL, stranger.URL} })
	if err == nil || !strings.Contains(err.Error(), "it is of another Vault than "+servers[0].URL) {
		t.Errorf("a server of another Vault: %v", err)
	}
}

// One server is lost for good while the others restart: all that answer are unsealed, and the lost one is named.
func TestALostServerDoesNotKeepTheOthersSealed(t *testing.T) {
	b, servers := newCluster(t, 3)
	if _, err := b.run(); err != nil {
		t.Fatal(err)
	}
	for _, m := range servers {
		m.Stop()
	}
	servers[0].Start()
	servers[2].Start()
	// Somebody who asks about one server, and has no identities, learns that it is sealed.
	if out, err := b.run(func(o *Options) { o.Members = nil }); err != nil || out.Verb != VerbNothing || !out.Sealed {
		t.Errorf("one restarted server: %+v %v", out, err)
	}
	var refused *RefusedError
	if out, err := b.run(); !errors.As(err, &refused) || !strings.Contains(err.Error(), "these do not answer: "+servers[1].URL) || !out.Sealed {
		t.Errorf("without identities: %+v %v", out, err)
	}
	out, err := b.run(b.with(2))
	if err == nil || !strings.Contains(err.Error(), "2 servers are unsealed; these do not answer: "+servers[1].URL+". Leave out --member") {
		t.Errorf("with a lost server: %v", err)
	}
	if out.Members != 1 || out.Sealed {
		t.Errorf("with a lost server: %+v", out)
	}
	for _, m := range []*vaulttest.Member{servers[0], servers[2]} {
		server, err := newAPI(m.URL, b.options.Authorities)
		if err != nil {
			t.Fatal(err)
		}
		if is, err := server.status(t.Context()); err != nil || is.Sealed {
			t.Errorf("%s: %+v %v", m.URL, is, err)
		}
	}
	if out, err := b.run(func(o *Options) { o.Members = nil }); err != nil || out.Sealed {
		t.Errorf("one unsealed server: %+v %v", out, err)
	}
	if out, err := b.run(b.with(2), func(o *Options) { o.Members = []string{servers[2].URL} }); err != nil || out.Members != 1 || out.Sealed {
		t.Errorf("without the lost server: %+v %v", out, err)
	}
	_, err = b.run(b.with(2), func(o *Options) { o.Address, o.Members = servers[1].URL, []string{servers[0].URL, servers[2].URL} })
	if err == nil || !strings.Contains(err.Error(), "If the server "+servers[1].URL+" is lost, name another one by --address") {
		t.Errorf("the lost server first: %v", err)
	}
}
