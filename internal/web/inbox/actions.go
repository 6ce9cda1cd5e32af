// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// seenCookie remembers when a person last looked: PERSON.SECONDS. It is for one person, because several
// may use a browser.
const (
	seenCookie = "__Host-yuba-seen"
	seenDays   = 400
)

// seenAt is when the person last said that they have seen the failures.
func seenAt(r *site.Request) time.Time {
	cookie, err := r.Cookie(seenCookie)
	if err != nil {
		return time.Time{}
	}
	person, text, _ := strings.Cut(cookie.Value, ".")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || person != r.Person.Key() || seconds > r.Now.Unix() {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// seen remembers that the person has seen the failures up to the time that the form names: others may
// have come since.
func (p *pages) seen(r *site.Request) (site.Done, error) {
	until, err := strconv.ParseInt(r.PostFormValue("until"), 10, 64)
	if err != nil || until < 0 {
		return site.Done{}, site.BadRequest("The form does not say until when you have seen failures.", "")
	}
	cookie := &http.Cookie{Name: seenCookie, Value: r.Person.Key() + "." + strconv.FormatInt(min(until, r.Now.Unix()), 10), Path: "/",
		MaxAge: seenDays * 24 * 60 * 60, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	return site.Done{Says: "These failures are not shown again. Stacks and causes still list them.", Next: Section, Cookies: []*http.Cookie{cookie}}, nil
}

func keyIn(r *site.Request) client.ObjectKey {
	return client.ObjectKey{Namespace: r.PostFormValue("namespace"), Name: r.PostFormValue("name")}
}

// annotate changes an object that is still as it was read.
func annotate(r *site.Request, o client.Object, name, value string) error {
	return change(r, o, verbs.Change{}.Annotate(map[string]any{name: value}).If(o.GetResourceVersion()))
}

func change(r *site.Request, o client.Object, c verbs.Change) error {
	patch, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return r.As.Objects.Patch(r.Context(), o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("yuba-web"))
}

// confirmPrune confirms the pruning that the person saw.
func (p *pages) confirmPrune(r *site.Request) (site.Done, error) {
	key := keyIn(r)
	var k kustomizev1.Kustomization
	if err := r.As.Objects.Get(r.Context(), key, &k); err != nil {
		return site.Done{}, err
	}
	seen := r.PostFormValue("revision")
	revision, _ := heldRevision(&k)
	switch {
	case revision == "":
		return site.Done{}, site.Conflict(fmt.Sprintf("Nothing was confirmed: no pruning of %s is held, or somebody confirmed it already.", key), "")
	case revision != seen:
		return site.Done{}, site.Conflict(fmt.Sprintf("Nothing was confirmed: the held pruning of %s is now that of revision %s.", key, revision), "Look at it again.")
	}
	return site.Done{Says: fmt.Sprintf("The pruning of %s for revision %s is confirmed.", key, revision)}, annotate(r, &k, annotationConfirmPrune, revision)
}

// confirmTenants confirms the deletion of tenants that the person saw.
func (p *pages) confirmTenants(r *site.Request) (site.Done, error) {
	key := keyIn(r)
	var g tenantv1.TenantRegistry
	if err := r.As.Objects.Get(r.Context(), key, &g); err != nil {
		return site.Done{}, err
	}
	h := heldDeletion(&g)
	switch {
	case h == nil:
		return site.Done{}, site.Conflict(fmt.Sprintf("Nothing was confirmed: %s holds no deletion, or somebody confirmed it already.", key), "")
	case h.ID != r.PostFormValue("id"):
		return site.Done{}, site.Conflict(fmt.Sprintf("Nothing was confirmed: the held deletion of %s is another one now, of %d tenants.", key, h.Count), "Look at it again.")
	}
	return site.Done{Says: fmt.Sprintf("The deletion of %d tenants of %s is confirmed.", h.Count, key)}, annotate(r, &g, tenantv1.AnnotationConfirmDeletion, h.ID)
}

// closeCircuit closes a circuit breaker, or makes one that a person keeps open automatic again.
func (p *pages) closeCircuit(r *site.Request) (site.Done, error) {
	var c yubav1.CircuitBreaker
	if err := r.As.Objects.Get(r.Context(), client.ObjectKey{Name: r.PostFormValue("name")}, &c); err != nil {
		return site.Done{}, err
	}
	if string(c.Spec.Mode) != r.PostFormValue("mode") || c.Status.State == yubav1.StateClosed {
		return site.Done{}, site.Conflict(fmt.Sprintf("Nothing was done: circuit breaker %s has changed since you saw it.", c.Name), "Look at it again.")
	}
	mode, word := yubav1.ModeClosed, "closed"
	if c.Spec.Mode == yubav1.ModeOpen {
		mode, word = yubav1.ModeAutomatic, "automatic again"
	}
	err := change(r, &c, verbs.Change{Spec: map[string]any{"mode": mode}}.If(c.ResourceVersion))
	return site.Done{Says: fmt.Sprintf("Circuit breaker %s is %s.", c.Name, word)}, err
}
