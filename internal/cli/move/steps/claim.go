// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
)

// claimName is the Lease of the process that moves a namespace, or cancels its move.
const claimName = "yuba-move"

const (
	// claimDuration is how long the Lease of a killed process blocks others. A holder stops writing
	// after claimPatience without a renewal, which leaves time for the write in progress.
	claimDuration = 20 * time.Second
	claimPatience = 14 * time.Second
	claimRenewal  = 4 * time.Second
)

// ClaimedError means that another process works on a namespace.
type ClaimedError struct {
	Namespace, Home, Host, Since string
}

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("another yuba move works on namespace %s at %s since %s on host %s. Wait until it has ended, or stop it there", e.Namespace, e.Home, e.Since, e.Host)
}

// errClaimLost means that another process may work on the namespaces.
var errClaimLost = errors.New("this process lost its Lease yuba-move, so another one may continue the move. It stopped")

// claim are the Leases that this process holds at both homes.
type claim struct {
	id     string
	leases []*held
	cancel context.CancelCauseFunc
	stop   chan struct{}
	done   sync.WaitGroup
	once   sync.Once

	mu sync.Mutex
	// renewed is a time of the wall clock: a suspended machine stops the other one.
	renewed time.Time
	lost    bool
}

// held is one Lease.
type held struct {
	side *Side
	live *unstructured.Unstructured
}

// claim takes the Leases of namespaces at both homes, and renews them until release. The context that
// it returns ends if one is lost.
func (m *Mover) claim(ctx context.Context, namespaces []string) (context.Context, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	c := &claim{id: host + "_" + newID(), cancel: cancel, stop: make(chan struct{}), renewed: wallClock()}
	m.claimed = c
	for _, side := range []*Side{m.To, m.From} {
		if side.files != nil {
			continue
		}
		for _, namespace := range namespaces {
			live, err := side.takeClaim(ctx, namespace, c.id, m.News)
			if err != nil {
				m.release()
				return nil, err
			}
			c.leases = append(c.leases, &held{side: side, live: live})
		}
	}
	if err := c.renew(ctx); err != nil {
		m.release()
		return nil, fmt.Errorf("renew the Lease of the move: %w", err)
	}
	m.To.guard, m.From.guard = c.check, c.check
	c.done.Add(1)
	go c.keep(ctx)
	return ctx, nil
}

// takeClaim takes a Lease. If another process holds it, it waits whether that renews it.
func (s *Side) takeClaim(ctx context.Context, namespace, id string, news func(string, ...any)) (*unstructured.Unstructured, error) {
	seen, since := "", time.Time{}
	for {
		live, err := s.get(ctx, leases, "v1", namespace, claimName)
		if err != nil {
			return nil, err
		}
		switch version := versionOf(live); {
		case live == nil:
			made, err := s.create(ctx, leases, "v1", claimOf(namespace, id))
			if err == nil || !apierrors.IsAlreadyExists(err) {
				return made, err
			}
		case seen == "":
			seen, since = version, wallClock()
			news("Namespace %s at %s belongs to another yuba move on host %s. Checking whether that still works …", namespace, s.Name, hostOf(live))
		case seen != version:
			began, _, _ := unstructured.NestedString(live.Object, "spec", "acquireTime") //nolint:errcheck // unknown then
			return nil, &ClaimedError{Namespace: namespace, Home: s.Name, Host: hostOf(live), Since: began}
		case wallClock().Sub(since) > claimDuration:
			taken := claimOf(namespace, id)
			taken.SetResourceVersion(version)
			made, err := s.update(ctx, leases, "v1", taken)
			if err == nil || !apierrors.IsConflict(err) {
				return made, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(awaitPause):
		}
	}
}

func versionOf(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	return o.GetResourceVersion()
}

func claimOf(namespace, id string) *unstructured.Unstructured {
	now := metav1.NewMicroTime(time.Now()).UTC().Format(metav1.RFC3339Micro)
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"namespace": namespace, "name": claimName},
		"spec":     map[string]any{"holderIdentity": id, "leaseDurationSeconds": int64(claimDuration / time.Second), "acquireTime": now, "renewTime": now}}}
}

// hostOf is the host in a Lease: the identity without the id of the process.
func hostOf(lease *unstructured.Unstructured) string {
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity") //nolint:errcheck // unknown then
	if at := strings.LastIndex(holder, "_"); at > 0 {
		return holder[:at]
	}
	return "unknown"
}

// wallClock is the time without the reading of the monotonic clock.
func wallClock() time.Time { return time.Now().Round(0) }

// keep renews the Leases.
func (c *claim) keep(ctx context.Context) {
	defer c.done.Done()
	for {
		select {
		case <-c.stop:
			return
		case <-ctx.Done():
			return
		case <-time.After(claimRenewal):
		}
		// Other errors may pass: check fails after too many.
		if err := c.renew(ctx); apierrors.IsConflict(err) || apierrors.IsNotFound(err) || c.check() != nil {
			c.lose()
			return
		}
	}
}

// renew renews all Leases once.
func (c *claim) renew(ctx context.Context) error {
	began := wallClock()
	for _, h := range c.leases {
		next := h.live.DeepCopy()
		now := metav1.NewMicroTime(time.Now()).UTC().Format(metav1.RFC3339Micro)
		if err := unstructured.SetNestedField(next.Object, now, "spec", "renewTime"); err != nil {
			return err
		}
		// A response that was lost looks like a conflict, and ends this process: that is safe.
		made, err := h.side.of(leases, "v1", next.GetNamespace()).Update(ctx, next, metav1.UpdateOptions{FieldManager: Manager})
		if err != nil {
			return err
		}
		h.live = made
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.renewed = began
	return nil
}

func (c *claim) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
	c.cancel(errClaimLost)
}

// check fails if another process may have taken a Lease. Every write calls it.
func (c *claim) check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost || wallClock().Sub(c.renewed) > claimPatience {
		return errClaimLost
	}
	return nil
}

// explain returns why a step failed, if that was the loss of a Lease.
func (m *Mover) explain(err error) error {
	switch {
	case err == nil || m.claimed == nil || m.claimed.check() == nil || errors.Is(err, errClaimLost):
		return err
	case errors.Is(err, context.Canceled): // by the loss, not by a person
		return errClaimLost
	}
	return fmt.Errorf("%w: %w", errClaimLost, err)
}

// releasePatience limits how long an interrupted command waits for the deletion of its Leases.
const releasePatience = 5 * time.Second

// release gives the Leases back.
func (m *Mover) release() {
	c := m.claimed
	if c == nil {
		return
	}
	c.once.Do(func() {
		close(c.stop)
		c.done.Wait()
		c.cancel(context.Canceled)
		m.To.guard, m.From.guard = nil, nil
		ctx, cancel := context.WithTimeout(context.Background(), releasePatience)
		defer cancel()
		for _, h := range c.leases {
			version, uid := h.live.GetResourceVersion(), h.live.GetUID()
			// One that stays expires.
			_ = h.side.of(leases, "v1", h.live.GetNamespace()).Delete(ctx, claimName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
		}
	})
}

// owned checks before each phase that the Leases and the target's records are this process's.
func (m *Mover) owned(ctx context.Context, g *gathered) error {
	if err := m.claimed.check(); err != nil {
		return err
	}
	for _, h := range m.claimed.leases {
		live, err := h.side.get(ctx, leases, "v1", h.live.GetNamespace(), claimName)
		if err != nil {
			return err
		}
		holder := ""
		if live != nil {
			holder, _, _ = unstructured.NestedString(live.Object, "spec", "holderIdentity") //nolint:errcheck // nobody's then
		}
		if holder != m.claimed.id {
			m.claimed.lose()
			return errClaimLost
		}
	}
	for _, s := range g.spaces {
		if g.involved(s) && s.step == decide.StepContinue && s.to.Claim != m.claimed.id {
			return fmt.Errorf("namespace %s at %s: %w", s.name, m.To.Name, errClaimLost)
		}
	}
	return nil
}
