// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/site"
)

const (
	// labelView is on the ConfigMaps that are shared views of the list of stacks.
	labelView, viewOfStacks = "web.yuba.dev/view", "stacks"
	keyTitle, keyAddress    = "title", "address"
	viewPrefix              = "yuba-view-"

	// The cookie of a browser's own views, and its bounds: browsers keep 4 kB.
	viewsCookie        = "__Host-yuba-views"
	maxOwn, maxOwnSize = 20, 3000
	maxTitle           = 60
	ownDays            = 400

	// viewsRemembered is how long shared views are used again, maxSharedViews bounds them.
	viewsRemembered = 30 * time.Second
	maxSharedViews  = 100
	maxNamespaces   = 10
)

// saved is a saved view.
type saved struct {
	Title string `json:"t"`
	// Query is the encoded address, without the path.
	Query string `json:"q"`
	// Namespace is where a shared view is; empty for the browser's own. Name is its ConfigMap.
	Namespace string `json:"-"`
	Name      string `json:"-"`
}

// viewsView is the part of the page about saved views.
type viewsView struct {
	All     []savedView
	Current string
	Save    site.Button
	// Note says which shared views are not shown.
	Note string
}

type savedView struct {
	Title, Address, Namespace string
	Here                      bool
	Delete                    *site.Button
}

func (p *pages) viewsOf(r *site.Request, now params) viewsView {
	v := viewsView{Current: now.encode(), Save: r.Allow(site.Button{Label: "Save this view", Address: "/stacks/views/save"})}
	shared, note := p.shared.list(r)
	v.Note = note
	for _, s := range slices.Concat(ownViews(r.Request), shared) {
		shown := savedView{Title: s.Title, Address: Section + "?" + s.Query, Namespace: s.Namespace, Here: s.Query == v.Current}
		if s.Query == v.Current {
			b := site.Button{Label: "Delete this view", Address: "/stacks/views/delete", Confirm: fmt.Sprintf("Delete the view %q?", s.Title),
				Values: []site.Value{{Name: "title", Value: s.Title}, {Name: "namespace", Value: s.Namespace}, {Name: "name", Value: s.Name}}}
			if s.Namespace == "" {
				b = r.Allow(b)
			} else {
				b = r.Allow(b, rightToViews("delete", s.Namespace))
			}
			shown.Delete = &b
		}
		v.All = append(v.All, shown)
	}
	return v
}

func rightToViews(verb, namespace string) access.Right {
	return access.Right{Verb: verb, Resource: "configmaps", Namespace: namespace}
}

// ownViews are the views in the browser's cookie.
func ownViews(r *http.Request) []saved {
	cookie, err := r.Cookie(viewsCookie)
	if err != nil {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(data) > maxOwnSize {
		return nil
	}
	var all []saved
	if json.Unmarshal(data, &all) != nil {
		return nil
	}
	for i := range all {
		all[i] = tidy(all[i].Title, all[i].Query)
	}
	return all[:min(len(all), maxOwn)]
}

func cookieOfViews(all []saved) (*http.Cookie, error) {
	data, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	if len(all) > maxOwn || len(data) > maxOwnSize {
		return nil, site.BadRequest("The view was not saved: your browser keeps no more of them.", "Delete one, or share views in a namespace.")
	}
	return &http.Cookie{Name: viewsCookie, Value: base64.RawURLEncoding.EncodeToString(data), Path: "/", MaxAge: ownDays * 24 * 60 * 60,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}, nil
}

// tidy makes a view of what somebody wrote. Its query has only what the page understands.
func tidy(title, query string) saved {
	title = strings.Join(strings.Fields(strings.ToValidUTF8(title, "?")), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle])
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		values = url.Values{}
	}
	return saved{Title: title, Query: paramsOf(values).withPage(1).encode()}
}

func (p *pages) saveView(r *site.Request) (site.Done, error) {
	view := tidy(r.PostFormValue("title"), r.PostFormValue("view"))
	namespace := strings.TrimSpace(r.PostFormValue("namespace"))
	if view.Title == "" {
		return site.Done{}, site.BadRequest("The view was not saved: it has no name.", "")
	}
	next := Section + "?" + view.Query
	if namespace != "" {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: viewPrefix, Labels: map[string]string{labelView: viewOfStacks}},
			Data:       map[string]string{keyTitle: view.Title, keyAddress: view.Query},
		}
		if err := r.As.Objects.Create(r.Context(), object, client.FieldOwner("yuba-web")); err != nil {
			return site.Done{}, err
		}
		p.shared.forget()
		return site.Done{Says: fmt.Sprintf("The view %q is saved for everybody who may read ConfigMaps in %s.", view.Title, namespace), Next: next}, nil
	}
	all := slices.DeleteFunc(ownViews(r.Request), func(s saved) bool { return s.Title == view.Title })
	cookie, err := cookieOfViews(append(all, view))
	if err != nil {
		return site.Done{}, err
	}
	return site.Done{Says: fmt.Sprintf("The view %q is saved in this browser.", view.Title), Next: next, Cookies: []*http.Cookie{cookie}}, nil
}

func (p *pages) deleteView(r *site.Request) (site.Done, error) {
	title, namespace, name := r.PostFormValue("title"), r.PostFormValue("namespace"), r.PostFormValue("name")
	done := site.Done{Says: fmt.Sprintf("The view %q is deleted.", title), Next: Section}
	if namespace == "" {
		cookie, err := cookieOfViews(slices.DeleteFunc(ownViews(r.Request), func(s saved) bool { return s.Title == title }))
		done.Cookies = []*http.Cookie{cookie}
		return done, err
	}
	var object corev1.ConfigMap
	if err := r.As.Objects.Get(r.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &object); err != nil {
		return site.Done{}, err
	}
	// The form names any ConfigMap; only views are deleted here.
	if object.Labels[labelView] != viewOfStacks {
		return site.Done{}, site.BadRequest(fmt.Sprintf("ConfigMap %s/%s is not a view.", namespace, name), "")
	}
	p.shared.forget()
	return done, r.As.Objects.Delete(r.Context(), &object, client.Preconditions{UID: &object.UID})
}

// sharedViews remembers the shared views that each person may read.
type sharedViews struct {
	mu    sync.Mutex
	known map[string]rememberedViews
}

type rememberedViews struct {
	views []saved
	note  string
	until time.Time
}

func (s *sharedViews) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = nil
}

// list returns the shared views that the person may read, and says which are not among them. Without
// them, the page is complete.
func (s *sharedViews) list(r *site.Request) (views []saved, note string) {
	key := r.Person.Key()
	s.mu.Lock()
	known, ok := s.known[key]
	s.mu.Unlock()
	if ok && r.Now.Before(known.until) {
		return known.views, known.note
	}
	views, note, err := readShared(r)
	if err != nil {
		return nil, "Shared views cannot be read now."
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	const maxPeople = 1000
	if s.known == nil || len(s.known) >= maxPeople {
		s.known = map[string]rememberedViews{}
	}
	s.known[key] = rememberedViews{views, note, r.Now.Add(viewsRemembered)}
	return views, note
}

func readShared(r *site.Request) (views []saved, note string, err error) {
	scope, err := r.Scope("", "configmaps")
	if err != nil || scope.Nothing() {
		return nil, "", err
	}
	namespaces := []string{""}
	if !scope.Everywhere() {
		namespaces = scope.Namespaces()
		if len(namespaces) > maxNamespaces {
			namespaces = namespaces[:maxNamespaces]
			note = "Views are shared in namespaces: only those of " + strings.Join(namespaces, ", ") + " are shown."
		}
	}
	lists := make([]corev1.ConfigMapList, len(namespaces))
	reading, ctx := errgroup.WithContext(r.Context())
	for i, namespace := range namespaces {
		reading.Go(func() error {
			err := r.As.Objects.List(ctx, &lists[i], client.InNamespace(namespace), client.MatchingLabels{labelView: viewOfStacks}, client.Limit(maxSharedViews))
			if apierrors.IsForbidden(err) {
				return nil
			}
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return nil, "", err
	}
	var all []saved
	for _, list := range lists {
		for _, object := range list.Items {
			view := tidy(object.Data[keyTitle], object.Data[keyAddress])
			view.Namespace, view.Name = object.Namespace, object.Name
			if view.Title != "" {
				all = append(all, view)
			}
		}
	}
	slices.SortFunc(all, func(a, b saved) int { return strings.Compare(a.Title, b.Title) })
	if len(all) > maxSharedViews {
		note = fmt.Sprintf("Only %d of the shared views are shown.", maxSharedViews)
	}
	return all[:min(len(all), maxSharedViews)], note, nil
}
