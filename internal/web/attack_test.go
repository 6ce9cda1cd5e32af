// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/login"
)

// Who may write Secrets where sessions are kept becomes nobody else by that.
func TestSessionsCannotBeMade(t *testing.T) {
	w, c := newWorld(t), apitest.Client(t)
	root, mallory := w.login(admin()), w.login(access.Person{Name: "mallory", Groups: []string{"system:authenticated"}})
	var secrets corev1.SecretList
	if err := c.List(t.Context(), &secrets, client.InNamespace(sessionsOf(w))); err != nil {
		t.Fatal(err)
	}
	if len(secrets.Items) != 2 {
		t.Fatalf("%d sessions, want 2", len(secrets.Items))
	}
	// Each gets the content of the other.
	first, second := secrets.Items[0], secrets.Items[1]
	first.Data, second.Data = secrets.Items[1].Data, secrets.Items[0].Data
	for _, secret := range []corev1.Secret{first, second} {
		if err := c.Update(t.Context(), &secret); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.pass(believedAtMost)
	for _, b := range []*person{root, mallory} {
		if code, body := b.get("/"); code != http.StatusSeeOther {
			t.Errorf("a session with another's content: %d %s", code, body)
		}
	}
	if other, err := login.New(login.Options{Key: []byte("short")}); err == nil {
		t.Errorf("a short key is accepted: %v", other)
	}
}

// Without a group of its own, the API server would count anonymous people as authenticated ones.
func TestAnonymousPeopleAreNotAuthenticated(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Anonymous = true })
	as, err := access.New(apitest.API(t).RESTConfig(), apitest.Client(t), watchedObjects(t), w.clock.now).As(access.Anonymous())
	if err != nil {
		t.Fatal(err)
	}
	review := authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: "content.yuba.dev", Resource: "weblinks"}}}
	if err := as.Objects.Create(t.Context(), &review); err == nil && review.Status.Allowed {
		t.Error("anonymous people may do what authenticated people may")
	}
}

// unanswered fails to answer what people may do.
type unanswered struct{ client.Client }

func (unanswered) Create(context.Context, client.Object, ...client.CreateOption) error {
	return errors.New("the API is away")
}

// An API that does not say what somebody may see is trouble, and not an empty fleet.
func TestUnknownRightsAreNotNone(t *testing.T) {
	w := newWorld(t)
	a := access.New(apitest.API(t).RESTConfig(), unanswered{apitest.Client(t)}, watchedObjects(t), w.clock.now)
	if _, err := a.Scope(t.Context(), admin(), "infra.contrib.fluxcd.io", "terraforms"); err == nil {
		t.Error("a scope without an answer")
	}
	if yes, err := a.Can(t.Context(), admin(), access.Right{Verb: "get", Resource: "secrets"}); yes || err == nil {
		t.Errorf("a right without an answer: %v %v", yes, err)
	}
}

// A tab whose session has ended is told so in the only way that browsers pass on.
func TestATabWithoutASessionLeaves(t *testing.T) {
	b := newWorld(t).nobody()
	r := b.request(http.MethodGet, "/", "")
	r.Header.Set("Accept", "text/event-stream")
	if code, _, body := b.do(r); code != http.StatusOK || !strings.Contains(body, "event: leave\n") {
		t.Errorf("a stream without a session: %d %q", code, body)
	}
}

// Somebody else's link does not replace a session without a question.
func TestAnothersLinkAsks(t *testing.T) {
	w := newWorld(t)
	path, err := w.page.Link(access.Person{Name: "mallory"})
	if err != nil {
		t.Fatal(err)
	}
	if _, body := w.nobody().get(path); !strings.Contains(body, "data-at-once") || !strings.Contains(body, "mallory") {
		t.Errorf("a link for nobody in particular: %s", body)
	}
	if _, body := w.login(admin()).get(path); strings.Contains(body, "data-at-once") || !strings.Contains(body, "Log in as mallory") {
		t.Errorf("a link of somebody else: %s", body)
	}
}

// The links of one person leave room for those of others.
func TestLinksOfOnePersonAreBounded(t *testing.T) {
	w := newWorld(t)
	var err error
	for range 20 {
		if _, err = w.page.Link(access.Person{Name: "robot"}); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("one person has twenty links")
	}
	if _, err := w.page.Link(admin()); err != nil {
		t.Error(err)
	}
}

// The session of a link that a token made does not outlive tokens by a week.
func TestLinksOfTokensAreShort(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.SessionLifetime = 100 * time.Hour })
	b := w.login(access.Person{Name: "system:serviceaccount:a:b", Groups: []string{"system:authenticated"}})
	w.clock.pass(61 * time.Minute)
	if code, _ := b.get("/"); code != http.StatusSeeOther {
		t.Errorf("an hour later: %d", code)
	}
}

// Rights on everything and on a namespace answer for the objects in it.
func TestRightsIncludeNarrowerOnes(t *testing.T) {
	w := newWorld(t)
	namespace := apitest.Namespace(t)
	eve := viewer(t, "eve-"+namespace, namespace)
	a := access.New(apitest.API(t).RESTConfig(), apitest.Client(t), watchedObjects(t), w.clock.now)
	for _, row := range []struct {
		who  access.Person
		name string
		in   string
		want bool
	}{{admin(), "x", namespace, true}, {eve, "x", namespace, true}, {eve, "", namespace, true}, {eve, "x", "default", false}, {eve, "", "", false}} {
		yes, err := a.Can(t.Context(), row.who, access.Right{Verb: "get", Group: "infra.contrib.fluxcd.io", Resource: "terraforms", Namespace: row.in, Name: row.name})
		if err != nil || yes != row.want {
			t.Errorf("%s may get %q in %q: %v %v", row.who.Name, row.name, row.in, yes, err)
		}
	}
}
