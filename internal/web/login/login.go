// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/web/access"
)

// Options configure logins.
type Options struct {
	// Objects reviews tokens and keeps sessions, in Namespace.
	Objects   client.Client
	Namespace string
	// Key seals sessions; 32 bytes. Servers that share sessions share it.
	Key []byte
	// Cookie names the session's cookie, without its prefix. Servers on one host need different ones.
	Cookie string
	// Lifetime is how long a session lasts.
	Lifetime time.Duration
	// Anonymous lets people read without a login.
	Anonymous bool
	// Masters lets members of system:masters log in, whom no role limits.
	Masters bool
	// Provider logs people in; nil for none. URL is where people reach the page; nil for where it listens.
	Provider Provider
	URL      *url.URL
	Now      func() time.Time
	Log      *slog.Logger
}

// Logins logs people in and out.
type Logins struct {
	Options
	sessions *scs.SessionManager
	store    *store
	links    *links
	attempts *attempts
}

// mastersGroup is the group that may do everything.
const mastersGroup = "system:masters"

// keyPerson is the session's only value.
const keyPerson = "person"

// storePatience limits a look at a session.
const storePatience = 10 * time.Second

// New returns the logins of a server.
func New(o Options) (*Logins, error) {
	seal, err := newSeal(o.Key)
	if err != nil {
		return nil, err
	}
	l := &Logins{Options: o, sessions: scs.New(), links: &links{now: o.Now, waiting: map[[sha256.Size]byte]link{}}, attempts: newAttempts(o.Now)}
	l.store = &store{objects: o.Objects, namespace: o.Namespace, seal: seal, now: o.Now, known: map[string]known{}}
	l.sessions.Store, l.sessions.HashTokenInStore, l.sessions.Lifetime = l.store, true, o.Lifetime
	// Lax: links in alerts and commit statuses must find the session. What changes something is a POST.
	l.sessions.Cookie = scs.SessionCookie{Name: "__Host-" + o.Cookie, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode, Persist: true}
	l.sessions.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		o.Log.Error("a session failed", "path", r.URL.Path, "error", err)
		http.Error(w, "Sessions cannot be read or stored now. Try again", http.StatusServiceUnavailable)
	}
	return l, nil
}

// Within gives the requests of a handler their sessions.
func (l *Logins) Within(h http.Handler) http.Handler { return l.sessions.LoadAndSave(h) }

// Who returns the person of a request's session; ok is false if there is none. It looks at the session
// again each time, so that a long request notices its end. On an error nobody knows.
func (l *Logins) Who(r *http.Request) (p access.Person, ok bool, err error) {
	p, ok, err = l.stored(r)
	switch {
	case err != nil:
		return p, false, err
	case ok:
		listener.Authenticated(r.Context())
		return p, true, nil
	case l.Anonymous:
		return access.Anonymous(), true, nil
	}
	return p, false, nil
}

func (l *Logins) stored(r *http.Request) (p access.Person, ok bool, err error) {
	cookie, err := r.Cookie(l.sessions.Cookie.Name)
	if err != nil {
		return p, false, nil //nolint:nilerr // no cookie, no session
	}
	// Not the request's context: that has the session as it was when the request began.
	ctx, cancel := context.WithTimeout(context.Background(), storePatience)
	defer cancel()
	ctx, err = l.sessions.Load(ctx, cookie.Value)
	if err != nil {
		return p, false, err
	}
	text := l.sessions.GetString(ctx, keyPerson)
	if text == "" || json.Unmarshal([]byte(text), &p) != nil {
		return access.Person{}, false, nil
	}
	return p, p.Name != "" && l.admits(p) == nil, nil
}

// Link returns the path of a link that logs a person in once.
func (l *Logins) Link(p access.Person) (string, error) {
	if err := l.admits(p); err != nil {
		return "", apierrors.NewForbidden(schema.GroupResource{Group: "content.yuba.dev", Resource: "weblinks"}, "", err)
	}
	code, err := l.links.make(p)
	if err != nil {
		return "", err
	}
	return "/login/link?code=" + url.QueryEscape(code), nil
}

// admits refuses people as whom this server does not act. In a cluster it could otherwise do anything
// as a member of system:masters, whom no role limits and no audit policy usually looks at.
func (l *Logins) admits(p access.Person) error {
	if l.Masters || !slices.Contains(p.Groups, mastersGroup) {
		return nil
	}
	return fmt.Errorf("%s is in the group %s, which no role limits, and the page of this server does not act as its members. "+
		"Use a kubeconfig or token whose user has roles, or have the server started with --web-allow-masters", p.Name, mastersGroup)
}

// UseLink logs in whose link it is.
func (l *Logins) UseLink(r *http.Request, code string) error {
	p, err := l.links.take(code)
	if err != nil {
		return err
	}
	return l.begin(r, p, l.linkEnd(p))
}

// robotSession is how long a session lasts that began with a link of a short-lived token: nobody can
// see when the token ends.
const robotSession = time.Hour

// credentialID is the extra in which API servers say with which credential somebody came.
const credentialID = "authentication.kubernetes.io/credential-id"

// linkEnd is when the session of a link ends at the latest; zero for the usual lifetime.
func (l *Logins) linkEnd(p access.Person) time.Time {
	byToken := slices.ContainsFunc(p.Extra[credentialID], func(id string) bool { return strings.HasPrefix(id, "JTI=") })
	if byToken || strings.HasPrefix(p.Name, "system:serviceaccount:") {
		return l.Now().Add(robotSession)
	}
	return time.Time{}
}

// UseToken logs in whose bearer token it is, as the API server says.
func (l *Logins) UseToken(r *http.Request, token string) error {
	review := authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := l.Objects.Create(r.Context(), &review); err != nil {
		return fmt.Errorf("ask the API whose token this is: %w", err)
	}
	if !review.Status.Authenticated {
		return errors.New("the API does not accept this token")
	}
	return l.begin(r, access.PersonOf(review.Status.User), expiryOf(token))
}

// begin begins a session, which ends with what it began with.
func (l *Logins) begin(r *http.Request, p access.Person, ends time.Time) error {
	if p.Name == "" {
		return errors.New("the API did not say who you are")
	}
	if err := l.admits(p); err != nil {
		return err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := l.sessions.RenewToken(ctx); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	l.sessions.Put(ctx, keyPerson, string(data))
	if !ends.IsZero() && ends.Before(l.Now().Add(l.Lifetime)) {
		l.sessions.SetDeadline(ctx, ends)
	}
	l.Log.Info("logged in to the page", "person", p.Name)
	return nil
}

// End ends the session of a request, or all sessions of its person.
func (l *Logins) End(r *http.Request, everywhere bool) error {
	p, ok, err := l.stored(r)
	if err != nil {
		return err
	}
	if ok && everywhere {
		if err := l.store.deleteAll(r.Context(), p.Name); err != nil {
			return fmt.Errorf("end all sessions of %s: %w", p.Name, err)
		}
	}
	return l.sessions.Destroy(r.Context())
}

// sweepFirst is when expired sessions are deleted after a start, sweepEvery how often after that.
const sweepFirst, sweepEvery = time.Minute, time.Hour

// Start deletes expired sessions until ctx ends.
func (l *Logins) Start(ctx context.Context) error {
	next := time.NewTimer(sweepFirst)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		if err := l.store.sweep(ctx); err != nil && ctx.Err() == nil {
			l.Log.Warn("expired sessions were not deleted", "error", err)
		}
		next.Reset(sweepEvery)
	}
}

// expiryOf is when a JSON Web Token that the API server has accepted expires; zero for other tokens.
func expiryOf(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expires int64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expires == 0 {
		return time.Time{}
	}
	return time.Unix(claims.Expires, 0)
}
