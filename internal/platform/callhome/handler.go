// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package callhome

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Secrets reads and writes tickets. Get reads from the API, not from a cache: a cache may still show a spent token.
// Update fails with a conflict unless the Secret is the version that was read.
type Secrets interface {
	Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)
	Update(ctx context.Context, s *corev1.Secret) error
}

// Handler answers PUT below [Path].
type Handler struct {
	Secrets Secrets
	Now     func() time.Time
	Log     *slog.Logger
	// Authenticated is called with the request of a node that has shown its token; may be nil.
	Authenticated func(context.Context)
}

// refusal is an answer that is not 204. Its message tells strangers nothing about tickets.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return r.message }

// errUnknown is the answer to anyone without the token of a ticket that waits.
var errUnknown = &refusal{http.StatusUnauthorized, "this token is not valid here"}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h.serve(w, r)
	var refused *refusal
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.As(err, &refused):
		http.Error(w, refused.message, refused.code)
	default:
		h.Log.Error("a node's kubeconfig was not stored", "path", r.URL.Path, "error", err)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "the kubeconfig was not stored; try again", http.StatusServiceUnavailable)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	key, ok := keyIn(r.URL.Path)
	if !ok {
		return &refusal{http.StatusNotFound, "want " + Path + "NAMESPACE/NAME"}
	}
	if r.Method != http.MethodPut {
		w.Header().Set("Allow", http.MethodPut)
		return &refusal{http.StatusMethodNotAllowed, "want PUT"}
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" || len(token) > 256 {
		return errUnknown
	}
	if err := h.check(r.Context(), key, token); err != nil {
		return err
	}
	if h.Authenticated != nil {
		h.Authenticated(r.Context())
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxKubeconfig))
	if err != nil {
		if large := new(http.MaxBytesError); errors.As(err, &large) {
			return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("a kubeconfig may have %d bytes", MaxKubeconfig)}
		}
		return &refusal{http.StatusBadRequest, "the request ended before its body"}
	}
	kubeconfig, err := clean(body)
	if err != nil {
		return &refusal{http.StatusUnprocessableEntity, "the kubeconfig was refused: " + err.Error()}
	}
	return h.store(r.Context(), key, token, kubeconfig)
}

// keyIn reads the ticket's name from a path.
func keyIn(path string) (types.NamespacedName, bool) {
	rest, ok := strings.CutPrefix(path, Path)
	namespace, name, two := strings.Cut(rest, "/")
	ok = ok && two && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}

// check refuses a token before its body is read, so that strangers cannot send us any.
func (h *Handler) check(ctx context.Context, key types.NamespacedName, token string) error {
	_, err := h.ticket(ctx, key, token)
	return err
}

// ticket returns the ticket of a token that is valid.
func (h *Handler) ticket(ctx context.Context, key types.NamespacedName, token string) (*corev1.Secret, error) {
	secret, err := h.Secrets.Get(ctx, key)
	if apierrors.IsNotFound(err) {
		return nil, errUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("read the ticket %s: %w", key, err)
	}
	grant, err := grantOf(secret)
	if err != nil || !grant.accepts(token) {
		// The token of a ticket that has its kubeconfig is forgotten, so a replay is as wrong as any.
		h.Log.Warn("a call home was refused: no such ticket waits for this token", "ticket", key.String())
		return nil, errUnknown
	}
	if now := h.Now(); !now.Before(grant.Expires) {
		h.Log.Warn("a call home was refused: its token has expired", "ticket", key.String(), "expired", grant.Expires)
		return nil, &refusal{http.StatusGone, "this token expired at " + grant.Expires.Format(time.RFC3339)}
	}
	return secret, nil
}

// attempts limits how often a write is repeated because something else of the ticket changed, such as a label.
const attempts = 5

// store exchanges the grant for the kubeconfig in one write.
func (h *Handler) store(ctx context.Context, key types.NamespacedName, token string, kubeconfig []byte) error {
	for range attempts {
		secret, err := h.ticket(ctx, key, token)
		if err != nil {
			return err
		}
		changed := secret.DeepCopy()
		delete(changed.Data, hashKey)
		delete(changed.Data, expiresKey)
		changed.Data[KubeconfigKey] = kubeconfig
		if changed.Annotations == nil {
			changed.Annotations = map[string]string{}
		}
		changed.Annotations[ArrivedAnnotation] = h.Now().UTC().Format(time.RFC3339)
		err = h.Secrets.Update(ctx, changed)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write the ticket %s: %w", key, err)
		}
		h.Log.Info("a node has called home", "ticket", key.String())
		return nil
	}
	return fmt.Errorf("write the ticket %s: somebody else keeps changing it", key)
}
