// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/hook"
)

const (
	// HookPath is the beginning of the paths of webhooks.
	HookPath = "/hook/pullrequests/"
	// hookBodies limits the bodies in memory, bodyTime the time to read one.
	hookBodies = 8
	bodyTime   = 30 * time.Second
	// fewest is the least number of bytes of a secret: short ones can be guessed.
	fewest = 8
)

// listen makes the webhooks of a planner known.
func (r *Reconciler) listen(ctx context.Context, o *yubav1.PullRequestPlanner, m *memory, kinds []forge.Kind) error {
	var secret forge.Secret
	path := ""
	if o.Spec.Webhook != nil {
		s, err := r.secret(ctx, o.Namespace, o.Spec.Webhook.SecretRef.Name)
		if err != nil {
			return err
		}
		secret = forge.Secret(s.Data["token"])
		if len(secret) < fewest {
			return &configError{yubav1.ReasonCredentials, fmt.Sprintf("the Secret %s has no token of at least %d bytes", s.Name, fewest)}
		}
		// Neither the name nor the path tells the secret, and a new secret has a new path.
		sum := sha256.Sum256([]byte(m.uid + "\n" + string(secret)))
		path = HookPath + hex.EncodeToString(sum[:])
	}
	slices.Sort(kinds)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hookPath != path {
		for _, l := range m.links {
			l.hooked = false
		}
	}
	m.hookPath, m.hookSecret, m.hookKinds = path, secret, slices.Compact(kinds)
	return nil
}

// ServeHTTP takes a webhook.
func (r *Reconciler) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	m, secret, kinds := r.listener(request.URL.Path)
	if m == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	body, err := r.body(w, request)
	var e hook.Event
	if err == nil {
		err = hook.ErrTooLarge
		for _, kind := range kinds {
			if e, err = hook.Parse(kind, secret, request.Header, body); err == nil {
				break
			}
		}
	}
	if err != nil {
		r.Log.Warn("a webhook of pull requests is refused", "planner", m.name.String(), "error", err)
		w.WriteHeader(statusCode(err))
		return
	}
	if e.Kind != hook.Ignored && !m.own(e) && r.window.New(m.uid, e, body, r.now()) {
		m.leave(e)
		go r.wake(m.name)
	}
	w.WriteHeader(http.StatusOK)
}

// own reports whether a hook is about a comment of ours, which a forge announces after each of our edits. Somebody else's
// comment with our mark is only read later.
func (m *memory) own(e hook.Event) bool {
	return e.Kind == hook.Comment && strings.Contains(e.Text, comment.Mark(markerOf(m)))
}

// listener finds the planner of a path.
func (r *Reconciler) listener(path string) (*memory, forge.Secret, []forge.Kind) {
	for _, m := range r.memories.all() {
		m.mu.Lock()
		known, secret, kinds := m.hookPath, m.hookSecret, m.hookKinds
		m.mu.Unlock()
		if known != "" && known == path {
			return m, secret, kinds
		}
	}
	return nil, "", nil
}

// body reads a body. Others wait for their turn.
func (r *Reconciler) body(w http.ResponseWriter, request *http.Request) ([]byte, error) {
	leave, err := r.reading.Take(request.Context(), "")
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	return hook.Read(w, request)
}

func statusCode(err error) int {
	var forged *hook.ForgedError
	switch {
	case errors.Is(err, hook.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &forged):
		return http.StatusForbidden
	}
	return http.StatusBadRequest
}
