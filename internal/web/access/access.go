// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

const (
	// remembered is how long an answer about rights is used again.
	remembered = 10 * time.Second
	// maxPeople and maxAnswers bound what is kept in memory.
	maxPeople, maxAnswers = 1000, 50_000
	// askedAtOnce are the questions about rights that are asked concurrently.
	askedAtOnce = 16
)

// Access answers what people may see, and gives them the API.
type Access struct {
	config *rest.Config
	scheme *runtime.Scheme
	mapper meta.RESTMapper
	// asks asks the API server about rights. watched has the namespaces.
	asks    client.Client
	watched client.Reader
	now     func() time.Time

	mu      sync.Mutex
	people  map[string]*API
	answers map[question]answer
}

// API is the API as one person.
type API struct {
	// Objects reads and writes objects, Content what is not one. Config is for other clients.
	Objects client.WithWatch
	Content *content.Client
	Config  *rest.Config
}

// New returns access to the API of config, which must be allowed to impersonate people and to review
// their rights. watched reads watched objects.
func New(config *rest.Config, asks client.Client, watched client.Reader, now func() time.Time) *Access {
	return &Access{config: config, scheme: asks.Scheme(), mapper: asks.RESTMapper(), asks: asks, watched: watched, now: now,
		people: map[string]*API{}, answers: map[question]answer{}}
}

// As returns the API as a person.
func (a *Access) As(p Person) (*API, error) {
	key := p.Key()
	a.mu.Lock()
	defer a.mu.Unlock()
	if api, ok := a.people[key]; ok {
		return api, nil
	}
	config := rest.CopyConfig(a.config)
	config.Impersonate = p.impersonation()
	// People wait for these requests, and the API server limits them by its own rules.
	config.QPS = -1
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create the API's client for %s: %w", p.Name, err)
	}
	objects, err := client.NewWithWatch(config, client.Options{HTTPClient: http, Scheme: a.scheme, Mapper: a.mapper})
	if err != nil {
		return nil, fmt.Errorf("create the API's client for %s: %w", p.Name, err)
	}
	bytes, err := content.NewClient(config)
	if err != nil {
		return nil, err
	}
	if len(a.people) >= maxPeople {
		clear(a.people)
	}
	api := &API{Objects: objects, Content: bytes, Config: config}
	a.people[key] = api
	return api, nil
}

// Right is a verb on a resource, such as {Verb: "patch", Group: "infra.contrib.fluxcd.io", Resource:
// "terraforms"}. An empty Namespace means all namespaces, an empty Name all objects.
type Right struct {
	Verb, Group, Resource, Subresource string
	Namespace, Name                    string
}

// String names the right as `kubectl auth can-i` takes it.
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

type question struct {
	person string
	right  Right
}

type answer struct {
	yes   bool
	until time.Time
}

// Can reports whether the API server would allow the person something. On an error nobody knows.
//
// A right on one object is often one on its namespace, and that one on all: these are asked first,
// because their answers are good for other questions, too.
func (a *Access) Can(ctx context.Context, p Person, right Right) (bool, error) {
	person := p.Key()
	for _, wider := range right.wider() {
		yes, err := a.recall(ctx, p, question{person, wider})
		if err != nil || yes {
			return yes, err
		}
	}
	return false, nil
}

// wider are the rights that include this one, the widest first and itself last.
func (r Right) wider() []Right {
	everywhere, inNamespace := r, r
	everywhere.Namespace, everywhere.Name, inNamespace.Name = "", "", ""
	list := []Right{everywhere}
	if inNamespace != everywhere {
		list = append(list, inNamespace)
	}
	if r != list[len(list)-1] {
		list = append(list, r)
	}
	return list
}

// recall answers a question from memory, or asks it.
func (a *Access) recall(ctx context.Context, p Person, q question) (bool, error) {
	now := a.now()
	a.mu.Lock()
	known, ok := a.answers[q]
	a.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.yes, nil
	}
	yes, err := a.ask(ctx, p, q.right)
	if err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.answers) >= maxAnswers {
		a.forget(now)
	}
	a.answers[q] = answer{yes, now.Add(remembered)}
	return yes, nil
}

// forget removes answers that have expired, or all if there are none.
func (a *Access) forget(now time.Time) {
	for q, known := range a.answers {
		if !now.Before(known.until) {
			delete(a.answers, q)
		}
	}
	if len(a.answers) >= maxAnswers {
		clear(a.answers)
	}
}

func (a *Access) ask(ctx context.Context, p Person, right Right) (bool, error) {
	review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: p.Name, UID: p.UID, Groups: p.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: right.Verb, Group: right.Group, Resource: right.Resource,
			Subresource: right.Subresource, Namespace: right.Namespace, Name: right.Name},
	}}
	for key, values := range p.Extra {
		if review.Spec.Extra == nil {
			review.Spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		review.Spec.Extra[key] = values
	}
	if err := a.asks.Create(ctx, &review); err != nil {
		return false, fmt.Errorf("ask whether %s may %s: %w", p.Name, right, err)
	}
	return review.Status.Allowed, nil
}

// Scope is where a person may list one resource.
type Scope struct {
	everywhere bool
	namespaces map[string]bool
}

// Has reports whether a namespace is in the scope.
func (s Scope) Has(namespace string) bool { return s.everywhere || s.namespaces[namespace] }

// Everywhere reports whether all namespaces are in the scope.
func (s Scope) Everywhere() bool { return s.everywhere }

// Nothing reports whether the person may list the resource nowhere.
func (s Scope) Nothing() bool { return !s.everywhere && len(s.namespaces) == 0 }

// Scope returns where the person may list a resource.
func (a *Access) Scope(ctx context.Context, p Person, group, resource string) (Scope, error) {
	right := Right{Verb: "list", Group: group, Resource: resource}
	person := p.Key()
	everywhere, err := a.recall(ctx, p, question{person, right})
	if err != nil || everywhere {
		return Scope{everywhere: everywhere}, err
	}
	var all corev1.NamespaceList
	if err := a.watched.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return Scope{}, fmt.Errorf("list namespaces: %w", err)
	}
	var mu sync.Mutex
	scope := Scope{namespaces: map[string]bool{}}
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(askedAtOnce)
	for i := range all.Items {
		name := all.Items[i].Name
		asking.Go(func() error {
			right := right
			right.Namespace = name
			yes, err := a.recall(ctx, p, question{person, right})
			if yes {
				mu.Lock()
				defer mu.Unlock()
				scope.namespaces[name] = true
			}
			return err
		})
	}
	return scope, asking.Wait()
}
