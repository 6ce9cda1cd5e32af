// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	// maxBody bounds a hook's body and bodyTime how long reading it may take. So many bodies are in memory at a time, and so
	// many of one namespace; bodyWait is how long one waits for its turn.
	maxBody         = 3 << 20
	bodyTime        = 30 * time.Second
	bodies          = 16
	namespaceBodies = bodies / 2
	bodyWait        = 10 * time.Second
	// chooseTime is what finding a hook's objects may take, the wait for other hooks of the namespace included.
	chooseTime = 2 * time.Second
)

// askPause is how often one object is asked at most. A controller that looks at its upstream anew takes about as long.
const askPause = 500 * time.Millisecond

// The reasons of the events that tell of hooks.
const (
	// reasonRefused: a hook did not verify.
	reasonRefused = "WebhookRefused"
	// reasonFailed: a hook verified, and an object could not be asked.
	reasonFailed = "WebhookFailed"
)

var (
	errTooMany = errors.New("too many hooks at a time")
	errTooLong = fmt.Errorf("finding the objects that the hook is about took longer than %s: simplify the receiver's expressions", chooseTime)
	errGone    = errors.New("the receiver was changed or deleted")
)

// refusal is the answer to a hook that is not carried out.
type refusal struct {
	status int
	reason string
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }

// ServeHTTP takes a hook.
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

// take verifies a hook and asks the objects.
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
	// What was verified is done, whether or not the sender waits for it.
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
	// Without a deadline of its own a body that never ends would keep its turn. Recorders of tests have none.
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

// choose finds the objects that a hook is about.
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
	for _, t := range e.targets {
		if t.filter.expression != nil {
			return true
		}
	}
	return e.filter.expression != nil
}

// match finds the objects of one resource. Only what labels or expressions choose has to be looked at.
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

// sift keeps the objects that the expressions let pass. One hook of a namespace at a time evaluates them.
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
		pass := true
		for _, f := range []filter{e.filter, t.filter} {
			ok, err := f.passes(ctx, &found[i], body)
			if err != nil {
				return nil, fmt.Errorf("decide about %s %s/%s: %w", t.gvk.Kind, found[i].Namespace, found[i].Name, err)
			}
			pass = pass && ok
			if !pass {
				break
			}
		}
		if pass {
			objects = append(objects, object{t.gvk, client.ObjectKeyFromObject(&found[i])})
		}
	}
	return objects, nil
}

// tell tells the receiver's owner what happened to a hook, and not too often.
func (r *Receivers) tell(e *entry, why *refusal) {
	text := why.Error()
	if !e.mayTell(why.reason, time.Now()) {
		return
	}
	r.Log.Warn("webhook not carried out", "receiver", client.ObjectKeyFromObject(e.receiver).String(), "reason", why.reason, "problem", text)
	reconciling.Event(r.Events, e.receiver, corev1.EventTypeWarning, why.reason, "Receive", strings.TrimSpace(text))
}

// HookPath is below which hooks come.
const HookPath = notificationv1.ReceiverWebhookPath
