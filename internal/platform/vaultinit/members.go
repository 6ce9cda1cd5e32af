// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// votingPatience is for the servers of a cluster to become voters: Vault watches a new one for 10 seconds first.
const votingPatience = 2 * time.Minute

// members are the further servers of a Vault.
func (o Options) members(first *api) (all []*api, err error) {
	known := []string{first.address}
	for _, address := range o.Members {
		m, err := newAPI(address, o.Authorities)
		if err != nil {
			return nil, err
		}
		if slices.Contains(known, m.address) {
			return nil, fmt.Errorf("the address %s is named twice: each server of Vault has one of its own", m.address)
		}
		known, all = append(known, m.address), append(all, m)
	}
	return all, nil
}

// addresses are those of servers.
func addresses(of []*api) (all []string) {
	for _, m := range of {
		all = append(all, m.address)
	}
	return all
}

func (a *api) status(ctx context.Context) (s sealStatus, err error) {
	if err = a.call(ctx, http.MethodGet, "sys/seal-status", nil, &s); err != nil {
		err = fmt.Errorf("%w (of %s)", err, a.address)
	}
	return s, err
}

// awaiting repeats a check until it succeeds.
func awaiting(ctx context.Context, patience time.Duration, check func() error) error {
	for deadline := time.Now().Add(patience); ; {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(readyPause):
		}
	}
}

// unsealMembers unseals servers, the further ones once they have found the others, and proves that all are of the same Vault: that of
// the first one that serves. One that fails does not keep it from the next. It returns those that are unsealed.
func (o Options) unsealMembers(ctx context.Context, servers []*api, keys []string) (ready []*api, err error) {
	var failed []error
	for _, m := range servers {
		was, err := m.unsealMember(ctx, ready, keys)
		if err != nil {
			failed = append(failed, fmt.Errorf("unseal the server %s: %w", m.address, err))
			continue
		}
		ready = append(ready, m)
		if was {
			o.News("Unsealed the server %s.", m.address)
		}
	}
	return ready, errors.Join(failed...)
}

// unsealMember unseals a server that is of the same Vault as those that are ready, and reports whether it was sealed.
func (a *api) unsealMember(ctx context.Context, ready []*api, keys []string) (was bool, err error) {
	var status sealStatus
	err = awaiting(ctx, readyPatience, func() (err error) {
		if status, err = a.status(ctx); err == nil && !status.Initialized {
			err = errors.New("it has not joined the others. Does its storage \"raft\" have a retry_join for each of them?")
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if status.Sealed {
		if err := a.unseal(ctx, keys); err != nil {
			return true, err
		}
	}
	// A server that joins is unsealed after its last key, when the leader has accepted it.
	if err := a.awaitReady(ctx); err != nil || len(ready) == 0 {
		return status.Sealed, err
	}
	theirs, err := a.cluster(ctx)
	if err != nil {
		return status.Sealed, err
	}
	first := ready[0]
	ours, err := first.cluster(ctx)
	if err == nil && theirs != ours {
		err = fmt.Errorf("it is of another Vault than %s (cluster %s, not %s)", first.address, theirs, ours)
	}
	return status.Sealed, err
}

// cluster is the id that all servers of an unsealed Vault have.
func (a *api) cluster(ctx context.Context) (id string, err error) {
	err = awaiting(ctx, readyPatience, func() error {
		status, err := a.status(ctx)
		if id = status.Cluster; err == nil && id == "" {
			err = fmt.Errorf("%s does not say which Vault it is of", a.address)
		}
		return err
	})
	return id, err
}

// unseal gives a server keys, from the first one on: somebody may have given it others before.
func (a *api) unseal(ctx context.Context, keys []string) error {
	if err := a.call(ctx, http.MethodPost, "sys/unseal", map[string]bool{"reset": true}, nil); err != nil {
		return err
	}
	for _, key := range keys {
		var status sealStatus
		if err := a.call(ctx, http.MethodPost, "sys/unseal", map[string]string{"key": key}, &status); err != nil {
			return err
		}
		if !status.Sealed {
			break
		}
	}
	return nil
}

// awaitReady waits until a server serves, or passes requests to the one that does.
func (a *api) awaitReady(ctx context.Context) error {
	return awaiting(ctx, readyPatience, func() error {
		return a.call(ctx, http.MethodGet, "sys/health?standbyok=true", nil, nil)
	})
}

// awaitVoters waits until all servers vote: only then the loss of one is survived.
func (o Options) awaitVoters(ctx context.Context, vault *api, servers int) error {
	if servers < 2 {
		return nil
	}
	err := awaiting(ctx, votingPatience, func() error {
		var answer struct {
			Data struct {
				Config struct {
					Servers []struct {
						Voter bool `json:"voter"`
					} `json:"servers"`
				} `json:"config"`
			} `json:"data"`
		}
		if err := vault.call(ctx, http.MethodGet, "sys/storage/raft/configuration", nil, &answer); err != nil {
			return err
		}
		voters := 0
		for _, s := range answer.Data.Config.Servers {
			if s.Voter {
				voters++
			}
		}
		if voters < servers {
			return fmt.Errorf("%d of %d servers of Vault vote", voters, servers)
		}
		return nil
	})
	if err != nil {
		return err
	}
	o.News("All %d servers of Vault vote.", servers)
	return forgetsTheDead(ctx, vault)
}

// forgetsTheDead makes Vault remove servers from its list that it has not heard of for a day, such as those by which it shrank:
// they would still count for the majority. It keeps three.
func forgetsTheDead(ctx context.Context, vault *api) error {
	err := vault.call(ctx, http.MethodPost, "sys/storage/raft/autopilot/configuration",
		map[string]any{"cleanup_dead_servers": true, "dead_server_last_contact_threshold": "24h", "min_quorum": 3}, nil)
	if err != nil {
		return fmt.Errorf("let Vault forget servers that are gone: %w", err)
	}
	return nil
}

// found is what the servers of a complete Vault answered.
type found struct {
	// answering are in the order in which they were named, and sealed are some of them.
	answering []*api
	sealed    []string
	silent    []string
	causes    []error
}

func look(ctx context.Context, servers []*api) (f found) {
	for _, m := range servers {
		status, err := m.status(ctx)
		if err != nil {
			f.silent, f.causes = append(f.silent, m.address), append(f.causes, err)
			continue
		}
		f.answering = append(f.answering, m)
		if status.Sealed {
			f.sealed = append(f.sealed, m.address)
		}
	}
	return f
}

// lost is the error for servers that do not answer; nil if all do.
func (f found) lost(unsealed int) error {
	if len(f.silent) == 0 {
		return nil
	}
	return fmt.Errorf("%d servers are unsealed; these do not answer: %s. Leave out --member of those that are lost:\n%w",
		unsealed, strings.Join(f.silent, ", "), errors.Join(f.causes...))
}

// rejoin unseals the servers of a complete Vault that are sealed, as after a restart, or were added: each that answers, whatever
// becomes of the others. It returns how many of the further ones are unsealed, and whether the first one still is sealed.
func (o Options) rejoin(ctx context.Context, first *api, members []*api, keys []string, threshold int) (unsealed int, sealed bool, err error) {
	f := look(ctx, append([]*api{first}, members...))
	sealed = slices.Contains(f.sealed, first.address)
	switch enough := threshold > 0 && len(keys) >= threshold; {
	case len(f.sealed) == 0 && len(f.silent) == 0:
		return len(members), false, nil
	case len(f.sealed) == 0:
		return further(f.answering, first), false, f.lost(len(f.answering))
	case !enough && len(members) == 0:
		return 0, sealed, nil // the outcome says so to somebody who only asks
	case !enough:
		refused := &RefusedError{fmt.Sprintf("Vault is set up, and these servers are sealed: %s. To unseal them, give the identities of enough recipients, or give each the shares with \"vault operator unseal\"",
			strings.Join(f.sealed, ", "))}
		return 0, sealed, errors.Join(refused, f.lost(len(f.answering)-len(f.sealed)))
	}
	ready, err := o.unsealMembers(ctx, f.answering, keys[:threshold])
	return further(ready, first), sealed && !slices.Contains(ready, first), errors.Join(err, f.lost(len(ready)))
}

// further counts the servers but the first one.
func further(servers []*api, first *api) (n int) {
	for _, m := range servers {
		if m != first {
			n++
		}
	}
	return n
}
