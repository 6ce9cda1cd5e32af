// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Peer is a server in the list of a Vault with integrated storage. It counts for the majority as long as it is there, also if it
// does not exist any more.
type Peer struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	Leader  bool   `json:"leader"`
	Voter   bool   `json:"voter"`
	// Healthy: the leader hears from it, and it has what the leader has.
	Healthy bool `json:"healthy"`
	// LastContact is how long ago the leader heard from it, as Vault says.
	LastContact string `json:"lastContact,omitempty"`
}

// Access is how a Vault that exists is asked.
type Access struct {
	// Address is that of one of its servers; Authorities are PEM certificates, the system's if empty.
	Address     string
	Authorities []byte
	// Token is one of Vault's, which may read the list, and change it.
	Token string
}

// Peers lists the servers, by ID.
func (a Access) Peers(ctx context.Context) ([]Peer, error) {
	vault, err := a.open()
	if err != nil {
		return nil, err
	}
	return vault.peers(ctx)
}

// Remove removes servers from the list, those that are dead first, and returns those that are left. It removes none if what is left
// could not decide anything.
func (a Access) Remove(ctx context.Context, ids []string) (left []Peer, err error) {
	vault, err := a.open()
	if err != nil {
		return nil, err
	}
	all, err := vault.peers(ctx)
	if err != nil {
		return nil, err
	}
	order, refused := Removal(all, ids)
	if refused != nil {
		return all, refused
	}
	for i, id := range order {
		if err := vault.call(ctx, http.MethodPost, "sys/storage/raft/remove-peer", map[string]string{"server_id": id}, nil); err != nil {
			if i > 0 {
				err = fmt.Errorf("%w (%s are removed)", err, strings.Join(order[:i], ", "))
			}
			return all, fmt.Errorf("remove %s: %w", id, err)
		}
	}
	// Vault has accepted each; the next leader knows them as well.
	return slices.DeleteFunc(all, func(p Peer) bool { return slices.Contains(order, p.ID) }), nil
}

// Removal decides whether servers can be removed, and in which order.
func Removal(all []Peer, ids []string) (order []string, refused error) {
	voters, healthy, names := 0, 0, []string(nil)
	var dead, alive []string
	for _, p := range all {
		names = append(names, p.ID)
		switch named := slices.Contains(ids, p.ID); {
		case named && p.Leader:
			return nil, &RefusedError{fmt.Sprintf("%s leads the others. Let another one lead first, and run the same command again:\n    vault operator step-down", p.ID)}
		case named && p.Healthy:
			alive = append(alive, p.ID)
		case named:
			dead = append(dead, p.ID)
		case p.Voter:
			if voters++; p.Healthy {
				healthy++
			}
		}
	}
	for _, id := range ids {
		if !slices.Contains(names, id) {
			return nil, &RefusedError{fmt.Sprintf("Vault has no server %q. It has %s", id, strings.Join(names, ", "))}
		}
	}
	if healthy <= voters/2 {
		return nil, &RefusedError{fmt.Sprintf("only %d of the %d servers that would be left answer, which is not a majority: Vault would stop. Let more of them answer first", healthy, voters)}
	}
	return append(dead, alive...), nil
}

// Tolerance is how many of the healthy servers may fail before Vault stops.
func Tolerance(all []Peer) int {
	voters, healthy := 0, 0
	for _, p := range all {
		if p.Voter {
			if voters++; p.Healthy {
				healthy++
			}
		}
	}
	return max(0, healthy-voters/2-1)
}

func (a Access) open() (*api, error) {
	vault, err := newAPI(a.Address, a.Authorities)
	if err != nil {
		return nil, err
	}
	vault.token = a.Token
	return vault, nil
}

func (a *api) peers(ctx context.Context) ([]Peer, error) {
	var list struct {
		Data struct {
			Config struct {
				Servers []struct {
					ID      string `json:"node_id"`
					Address string `json:"address"`
					Leader  bool   `json:"leader"`
					Voter   bool   `json:"voter"`
				} `json:"servers"`
			} `json:"config"`
		} `json:"data"`
	}
	if err := a.call(ctx, http.MethodGet, "sys/storage/raft/configuration", nil, &list); err != nil {
		return nil, fmt.Errorf("list the servers of Vault: %w", err)
	}
	var state struct {
		Data struct {
			Servers map[string]struct {
				Healthy     bool   `json:"healthy"`
				LastContact string `json:"last_contact"`
			} `json:"servers"`
		} `json:"data"`
	}
	if err := a.call(ctx, http.MethodGet, "sys/storage/raft/autopilot/state", nil, &state); err != nil {
		return nil, fmt.Errorf("ask for the health of the servers of Vault: %w", err)
	}
	all := make([]Peer, 0, len(list.Data.Config.Servers))
	for _, s := range list.Data.Config.Servers {
		is := state.Data.Servers[s.ID]
		all = append(all, Peer{ID: s.ID, Address: s.Address, Leader: s.Leader, Voter: s.Voter, Healthy: is.Healthy, LastContact: is.LastContact})
	}
	slices.SortFunc(all, func(a, b Peer) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}
