// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

const (
	// maxBody limits a hook's body, bodyTime the time to read it.
	maxBody  = 3 << 20
	bodyTime = 30 * time.Second
	// bodies limits bodies in memory, namespaceBodies those of a namespace. Others wait bodyWait.
	bodies          = 16
	namespaceBodies = bodies / 2
	bodyWait        = 10 * time.Second
	// chooseTime limits finding a hook's objects, and waiting for other hooks of the namespace.
	chooseTime = 2 * time.Second
	// askPause is the minimum time between two requests for an object: about a reconciliation.
	askPause = 500 * time.Millisecond
)

// The reasons of events about hooks.
const (
	// reasonRefused: a hook is not valid.
	reasonRefused = "WebhookRefused"
	// reasonFailed: a hook is valid, but not all objects could be annotated.
	reasonFailed = "WebhookFailed"
)

var (
	errTooMany = errors.New("too many concurrent hooks")
	errTooLong = fmt.Errorf("finding the hook's objects took longer than %s: simplify the receiver's expressions", chooseTime)
	errGone    = errors.New("the receiver was changed or deleted")
)

// refusal is the response to a hook that failed.
type refusal struct {
	status int
	reason string
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }

// ServeHTTP serves a hook.
func (r *Receivers) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if !r.ready.Load() {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	e := r.table.find(request.URL.Path)
	if e == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	refused := r.take(w, request, e)
	if refused == nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	if refused.reason != "" {
		r.tell(e, refused)
	}
	if refused.status == http.StatusTooManyRequests || refused.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(refused.status)
}

// take verifies a hook and requests reconciliations.
func (r *Receivers) take(w http.ResponseWriter, request *http.Request, e *entry) *refusal {
	spec := &e.receiver.Spec
	if spec.Suspend {
		return &refusal{status: http.StatusServiceUnavailable}
	}
	if !e.limit.Allow() {
		return &refusal{http.StatusTooManyRequests, reasonRefused, fmt.Errorf("more than %d hooks in one second", hooksPerSecond)}
	}
	done, refused := r.waitToRead(request.Context(), e)
	if refused != nil {
		return refused
	}
	defer done()
	body, refused := readHook(w, request)
	if refused != nil {
		return refused
	}
	if err := Verify(spec, e.token, request.Header, body); err != nil {
		return &refusal{http.StatusBadRequest, reasonRefused, err}
	}
	objects, refused := r.choose(request.Context(), e, request.Header, body)
	if refused != nil {
		return refused
	}
	// Complete a valid hook even if the sender disconnects.
	ctx := context.WithoutCancel(request.Context())
	var failed []error
	for _, o := range objects {
		if err := r.asker.ask(ctx, o); err != nil {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return &refusal{http.StatusInternalServerError, reasonFailed, err}
	}
	return nil
}

// waitToRead waits until a body may be read. done ends the use of the body.
func (r *Receivers) waitToRead(ctx context.Context, e *entry) (done func(), refused *refusal) {
	ctx, cancel := context.WithTimeout(ctx, bodyWait)
	defer cancel()
	leave, err := r.bodies.Take(ctx, e.receiver.Namespace)
	if err != nil {
		return nil, &refusal{http.StatusServiceUnavailable, reasonRefused, errTooMany}
	}
	exit, err := r.reading.Take(ctx, "")
	if err != nil {
		leave()
		return nil, &refusal{http.StatusServiceUnavailable, reasonRefused, errTooMany}
	}
	return func() { exit(); leave() }, nil
}

// readHook reads a body.
func readHook(w http.ResponseWriter, request *http.Request) ([]byte, *refusal) {
	// An endless body must not keep its turn. Recorders of tests do not support deadlines.
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, &refusal{http.StatusBadRequest, reasonRefused, errors.New("the connection was closed")}
	}
	body, err := io.ReadAll(io.LimitReader(request.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, &refusal{http.StatusBadRequest, reasonRefused, errors.New("the body is incomplete")}
	case len(body) > maxBody:
		return nil, &refusal{http.StatusRequestEntityTooLarge, reasonRefused, fmt.Errorf("the body has more than %d bytes", maxBody)}
	}
	return body, nil
}

// choose returns the objects of a hook.
func (r *Receivers) choose(ctx context.Context, e *entry, header http.Header, body []byte) ([]object, *refusal) {
	var content map[string]any
	if e.filters() {
		var err error
		if content, err = readBody(header, body); err != nil {
			return nil, &refusal{http.StatusBadRequest, reasonRefused, err}
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, chooseTime, errTooLong)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(e.life, func() { end(errGone) })()
	var chosen []object
	for _, t := range e.targets {
		objects, err := r.match(ctx, e, t, content)
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, errGone):
			return nil, &refusal{status: http.StatusNotFound}
		case err != nil && cause != nil:
			return nil, &refusal{http.StatusInternalServerError, reasonFailed, cause}
		case err != nil:
			return nil, &refusal{http.StatusInternalServerError, reasonFailed, err}
		}
		chosen = append(chosen, objects...)
	}
	return chosen, nil
}

func (e *entry) filters() bool {
	return e.filter.expression != nil || slices.ContainsFunc(e.targets, func(t target) bool { return t.filter.expression != nil })
}

// match returns the objects of one resource. It reads them only for labels and expressions.
func (r *Receivers) match(ctx context.Context, e *entry, t target, body map[string]any) ([]object, error) {
	var found []metav1.PartialObjectMetadata
	switch {
	case t.name == "":
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(t.gvk.GroupVersion().WithKind(t.gvk.Kind + "List"))
		if err := r.Client.List(ctx, list, client.InNamespace(t.namespace), client.MatchingLabels(t.labels)); err != nil {
			return nil, fmt.Errorf("list the %s of namespace %s by labels: %w", t.gvk.Kind, t.namespace, err)
		}
		found = list.Items
	case e.filter.expression == nil && t.filter.expression == nil:
		return []object{{t.gvk, types.NamespacedName{Namespace: t.namespace, Name: t.name}}}, nil
	default:
		one := object{t.gvk, types.NamespacedName{Namespace: t.namespace, Name: t.name}}.metadata()
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(one), one); err != nil {
			return nil, fmt.Errorf("read %s %s/%s: %w", t.gvk.Kind, t.namespace, t.name, err)
		}
		found = []metav1.PartialObjectMetadata{*one}
	}
	return r.sift(ctx, e, t, found, body)
}

// sift returns the objects for which the expressions are true.
func (r *Receivers) sift(ctx context.Context, e *entry, t target, found []metav1.PartialObjectMetadata, body map[string]any) ([]object, error) {
	if e.filters() {
		done, err := r.deciding.Take(ctx, e.receiver.Namespace)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	var objects []object
	for i := range found {
		found[i].SetGroupVersionKind(t.gvk)
		pass, err := e.filter.passes(ctx, &found[i], body)
		if err == nil && pass {
			pass, err = t.filter.passes(ctx, &found[i], body)
		}
		if err != nil {
			return nil, fmt.Errorf("evaluate the filters for %s %s/%s: %w", t.gvk.Kind, found[i].Namespace, found[i].Name, err)
		}
		if pass {
			objects = append(objects, object{t.gvk, client.ObjectKeyFromObject(&found[i])})
		}
	}
	return objects, nil
}

// tell reports a failed hook to the receiver's owner, but not too often.
func (r *Receivers) tell(e *entry, why *refusal) {
	text := why.Error()
	if !e.told.May(why.reason, time.Now()) {
		return
	}
	r.Log.Warn("webhook failed", "receiver", client.ObjectKeyFromObject(e.receiver).String(), "reason", why.reason, "problem", text)
	reconciling.Event(r.Events, e.receiver, corev1.EventTypeWarning, why.reason, "Receive", strings.TrimSpace(text))
}

// HookPath is the path of all hooks.
const HookPath = notificationv1.ReceiverWebhookPath
