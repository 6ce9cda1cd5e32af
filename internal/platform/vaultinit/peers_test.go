// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

func TestRemoval(t *testing.T) {
	// + is healthy, - is not; the first one leads.
	peers := func(text string) (all []Peer) {
		for i, c := range text {
			all = append(all, Peer{ID: fmt.Sprint("vault-", i), Leader: i == 0, Voter: true, Healthy: c == '+'})
		}
		return all
	}
	for name, c := range map[string]struct {
		is      string
		ids     []string
		want    []string
		refused string
	}{
		"two of five that do not exist any more": {"+++--", []string{"vault-3", "vault-4"}, []string{"vault-3", "vault-4"}, ""},
		"the dead one first":                     {"++++-", []string{"vault-3", "vault-4"}, []string{"vault-4", "vault-3"}, ""},
		"one of two, and one is left":            {"+-", []string{"vault-1"}, []string{"vault-1"}, ""},
		"too many of those that answer":          {"+++--", []string{"vault-1", "vault-2"}, nil, "only 1 of the 3 servers that would be left answer"},
		"one is left of two that answer":         {"+-++", []string{"vault-2", "vault-3"}, nil, "only 1 of the 2 servers"},
		"the leader":                             {"+++", []string{"vault-0"}, nil, "vault operator step-down"},
		"one that Vault does not have":           {"+++", []string{"vault-3"}, nil, `no server "vault-3". It has vault-0, vault-1, vault-2`},
	} {
		got, err := Removal(peers(c.is), c.ids)
		var refused *RefusedError
		if diff := cmp.Diff(c.want, got); diff != "" || errors.As(err, &refused) != (c.refused != "") || refused != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for text, want := range map[string]int{"+": 0, "++": 0, "+++": 1, "++-": 0, "+++++": 2, "+++--": 0, "++---": 0} {
		if n := Tolerance(peers(text)); n != want {
			t.Errorf("of %s, %d may fail", text, n)
		}
	}
}

// A Vault of five servers becomes one of three. Two go, which the others survive; while they are in the list, one more would be too
// many. Once they are removed, Vault survives the loss of one more.
func TestAVaultShrinksFromFiveServersToThree(t *testing.T) {
	b, servers := newCluster(t, 5)
	var token string
	b.options.after = func(step string) (err error) {
		if step == "configured" { // later, nobody has the root token
			token, err = b.operator()
		}
		return err
	}
	if _, err := b.run(); err != nil {
		t.Fatalf("%v\n%s", err, b.news)
	}
	access := Access{Address: servers[0].URL, Authorities: b.options.Authorities, Token: token}
	await := func(what string, fine func([]Peer) bool) (all []Peer) {
		t.Helper()
		err := awaiting(t.Context(), votingPatience, func() (err error) {
			if all, err = access.Peers(t.Context()); err == nil && !fine(all) {
				err = fmt.Errorf("%s: %+v", what, all)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := await("all are healthy", func(all []Peer) bool { return Tolerance(all) == 2 })
	at := func(p Peer) *vaulttest.Member {
		for i, m := range servers {
			if p.ID == fmt.Sprint("vault-", i) {
				return m
			}
		}
		t.Fatalf("unknown server %+v", p)
		return nil
	}
	leads := slices.IndexFunc(all, func(p Peer) bool { return p.Leader })
	leader, others := all[leads], slices.Delete(slices.Clone(all), leads, leads+1)
	access.Address = at(leader).URL
	at(others[0]).Stop()
	at(others[1]).Stop()
	gone := []string{others[0].ID, others[1].ID}
	await("two do not answer", func(all []Peer) bool {
		return len(all) == 5 && Tolerance(all) == 0 && !slices.ContainsFunc(all, func(p Peer) bool { return p.Healthy == slices.Contains(gone, p.ID) })
	})
	var refused *RefusedError
	if _, err := access.Remove(t.Context(), []string{others[2].ID, others[3].ID}); !errors.As(err, &refused) {
		t.Errorf("the wrong ones: %v", err)
	}
	left, err := access.Remove(t.Context(), gone)
	if err != nil || len(left) != 3 || Tolerance(left) != 1 {
		t.Fatalf("%+v %v", left, err)
	}
	await("three are left", func(all []Peer) bool { return len(all) == 3 && Tolerance(all) == 1 })
	// The leader is lost as well: the two others go on.
	access.Address = at(others[2]).URL
	at(leader).Stop()
	await("two answer", func(all []Peer) bool {
		return len(all) == 3 && slices.ContainsFunc(all, func(p Peer) bool { return p.Leader && p.ID != leader.ID })
	})
}

// operatorPolicy is the one of docs/how-to/archive-and-hand-over.md.
const operatorPolicy = `
path "sys/storage/raft/configuration"   { capabilities = ["read"] }
path "sys/storage/raft/autopilot/state" { capabilities = ["read"] }
path "sys/storage/raft/remove-peer"     { capabilities = ["update"] }
`

// operator makes a token that may list and remove servers, and checks that Vault forgets those that are gone.
func (b *birth) operator() (string, error) {
	file, err := readFile(b.options.KeyFile)
	if err != nil {
		return "", err
	}
	answer, opened := file.open(b.identities)
	if !opened {
		return "", errors.New("the key file is not opened")
	}
	vault, err := Access{Address: b.options.Address, Authorities: b.options.Authorities, Token: answer.RootToken}.open()
	if err != nil {
		return "", err
	}
	var autopilot struct {
		Data struct {
			Cleans bool `json:"cleanup_dead_servers"`
			Least  int  `json:"min_quorum"`
		} `json:"data"`
	}
	var made struct {
		Auth struct {
			Token string `json:"client_token"`
		} `json:"auth"`
	}
	err = errors.Join(vault.call(b.Context(), http.MethodGet, "sys/storage/raft/autopilot/configuration", nil, &autopilot),
		vault.call(b.Context(), http.MethodPost, "sys/policies/acl/operator", map[string]string{"policy": operatorPolicy}, nil),
		vault.call(b.Context(), http.MethodPost, "auth/token/create-orphan", map[string]any{"policies": []string{"operator"}}, &made))
	if err == nil && (!autopilot.Data.Cleans || autopilot.Data.Least != 3) {
		err = fmt.Errorf("the autopilot is %+v", autopilot.Data)
	}
	return made.Auth.Token, err
}
