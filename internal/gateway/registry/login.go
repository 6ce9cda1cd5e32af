// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Login is login.v1, by which "tofu login HOST" gets a token: an authorization code of OAuth with a
// proof key. A page asks for a token that the user has, and the tool gets it: only one that is for the
// registry alone, since the tool stores it in clear text.
type Login struct {
	mu    sync.Mutex
	codes map[[sha256.Size]byte]grant
	key   []byte
}

// NewLogin returns a login. Its codes live in memory for a minute.
func NewLogin() *Login {
	key := make([]byte, 32)
	rand.Read(key) //nolint:errcheck // it never fails
	return &Login{codes: map[[sha256.Size]byte]grant{}, key: key}
}

const (
	loginClient              = "yuba"
	authorizePath, tokenPath = "/oauth/authorize", "/oauth/token"
	// The ports on which the tool waits for the code.
	firstPort, lastPort = 10000, 10010
	codeLife            = time.Minute
	maxCodes            = 1000
	maxForm             = 64 << 10
	loginCookie         = "yuba-login"
)

// grant is what a code is worth, once.
type grant struct {
	token, challenge, redirect string
	expires                    time.Time
}

// loginRequest are the parameters of an authorization request.
type loginRequest struct{ Redirect, Challenge, State string }

var plainChallenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// readLogin reads and checks the parameters of an authorization request. The code is only ever sent to
// this user's machine.
func readLogin(q url.Values) (loginRequest, error) {
	in := loginRequest{q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("state")}
	switch {
	case q.Get("client_id") != loginClient || q.Get("response_type") != "code":
		return in, errors.New("this page is for \"tofu login\": it expects the client " + loginClient + " and the response type code")
	case !loopback(in.Redirect):
		return in, errors.New("the redirect must lead to http://localhost with a port from 10000 to 10010")
	case q.Get("code_challenge_method") != "S256" || !plainChallenge.MatchString(in.Challenge):
		return in, errors.New("a proof key with the method S256 is missing")
	case len(in.State) > 1024:
		return in, errors.New("the state is too long")
	}
	return in, nil
}

// loopback reports whether a redirect leads to a waiting tool on the user's machine.
func loopback(redirect string) bool {
	u, err := url.Parse(redirect)
	if err != nil || u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "/login" {
		return false
	}
	port, err := strconv.Atoi(u.Port())
	return err == nil && port >= firstPort && port <= lastPort && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
}

// login adds the routes of login.v1.
func (s *Server) login(mux *http.ServeMux) {
	mux.HandleFunc("GET "+authorizePath, s.observed("login", s.askForToken))
	mux.HandleFunc("POST "+authorizePath, s.observed("login", s.takeToken))
	mux.HandleFunc("POST "+tokenPath, s.observed("login", s.exchange))
}

var loginPage = template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sign in to {{.Host}}</title>
<style>body{font:16px sans-serif;max-width:34em;margin:4em auto;padding:0 1em}input{width:100%;box-sizing:border-box;font:inherit;padding:.4em;margin:.5em 0}.e{color:#a00;white-space:pre-wrap}</style>
<h1>Sign in to {{.Host}}</h1>
{{if .Error}}<p class="e">{{.Error}}</p>{{end}}
{{if .Request.Redirect}}<p>A tool on this computer asks for access to the registry. Continue only if you have just started <code>tofu login</code> or <code>terraform login</code>.</p>
<form method="post" action="authorize">
<p>The tool stores what you paste here in clear text. So paste a token that is for the registry only: an administrator makes one with <code>yuba registry token create NAME --read NAMESPACE</code>. Passwords and tokens of single sign-on (OIDC) do not work here.</p>
<label>Token for the registry
<input type="password" name="token" autocomplete="off" autofocus required></label>
<input type="hidden" name="client_id" value="yuba"><input type="hidden" name="response_type" value="code"><input type="hidden" name="code_challenge_method" value="S256">
<input type="hidden" name="redirect_uri" value="{{.Request.Redirect}}"><input type="hidden" name="code_challenge" value="{{.Request.Challenge}}">
<input type="hidden" name="state" value="{{.Request.State}}"><input type="hidden" name="proof" value="{{.Proof}}">
<input type="submit" value="Sign in"></form>{{end}}
</html>
`))

// page sends the page of the login.
func (s *Server) page(w http.ResponseWriter, r *http.Request, status int, in loginRequest, message string) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	// Browsers apply form-action to the redirect behind the form, too.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self' http://localhost:* http://127.0.0.1:*")
	http.SetCookie(w, &http.Cookie{Name: loginCookie, Value: nonce, Path: authorizePath, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode, MaxAge: 600})
	w.WriteHeader(status)
	loginPage.Execute(w, map[string]any{"Host": s.opts.Host, "Request": in, "Error": message, "Proof": s.opts.Login.proof(nonce, in)}) //nolint:errcheck // the client is gone
}

// proof binds a form to the browser that was shown it, and to its parameters.
func (l *Login) proof(nonce string, in loginRequest) string {
	h := hmac.New(sha256.New, l.key)
	for _, part := range []string{nonce, in.Redirect, in.Challenge, in.State} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) //nolint:errcheck // it never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// askForToken shows the page. A wrong request is not redirected anywhere.
func (s *Server) askForToken(w http.ResponseWriter, r *http.Request) (string, error) {
	in, err := readLogin(r.URL.Query())
	if err != nil {
		s.page(w, r, http.StatusBadRequest, loginRequest{}, err.Error())
		return "", nil
	}
	s.page(w, r, http.StatusOK, in, "")
	return "", nil
}

// takeToken checks the token of the form, and sends the browser to the tool with a code.
func (s *Server) takeToken(w http.ResponseWriter, r *http.Request) (string, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return "", problem(http.StatusBadRequest, "read the form: "+err.Error())
	}
	in, err := readLogin(r.PostForm)
	if err != nil {
		s.page(w, r, http.StatusBadRequest, loginRequest{}, err.Error())
		return "", nil
	}
	cookie, err := r.Cookie(loginCookie)
	if err != nil || !hmac.Equal([]byte(r.PostForm.Get("proof")), []byte(s.opts.Login.proof(cookie.Value, in))) {
		s.page(w, r, http.StatusForbidden, in, "The page was too old, or another site sent the form. Try again.")
		return "", nil
	}
	token := r.PostForm.Get("token")
	who, err := s.opts.Access.Identify(r.Context(), token)
	if errors.Is(err, ErrUnknownToken) {
		s.opts.Log.Warn("refused a login", "from", r.RemoteAddr)
		message := "The token is not valid, or no longer."
		var expired *ExpiredError
		if errors.As(err, &expired) {
			message = "The token expired at " + expired.At.Format(time.RFC3339) + "."
		}
		s.page(w, r, http.StatusForbidden, in, message)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !who.RegistryOnly {
		s.opts.Log.Warn("refused a login with a token for the API", "who", who.Name, "from", r.RemoteAddr)
		s.page(w, r, http.StatusForbidden, in, notForTools(who))
		return "", nil
	}
	code := s.opts.Login.issue(grant{token: token, challenge: in.Challenge, redirect: in.Redirect, expires: s.opts.Now().Add(codeLife)}, s.opts.Now())
	s.opts.Log.Info("login", "who", who.Name, "from", r.RemoteAddr)
	http.Redirect(w, r, in.Redirect+"?"+url.Values{"code": {code}, "state": {in.State}}.Encode(), http.StatusSeeOther)
	return "", nil
}

// notForTools says why the tool does not get a token of the API, and what to do.
func notForTools(who Identity) string {
	text := "This token opens the API of " + who.Name + ", too, and the tool would store it in clear text. Get one for the registry only"
	if account, ok := strings.CutPrefix(who.Name, "system:serviceaccount:"); ok {
		namespace, name, _ := strings.Cut(account, ":")
		return fmt.Sprintf("%s:\n    kubectl create token %s -n %s --audience %s --duration 720h", text, name, namespace, Audience)
	}
	return text + " from an administrator:\n    yuba registry token create NAME --read NAMESPACE"
}

// issue makes a code. If too many wait, all of them are forgotten.
func (l *Login) issue(g grant, now time.Time) string {
	code := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, other := range l.codes {
		if !now.Before(other.expires) || len(l.codes) >= maxCodes {
			delete(l.codes, key)
		}
	}
	l.codes[sha256.Sum256([]byte(code))] = g
	return code
}

// redeem returns the token of a code, once.
func (l *Login) redeem(code, verifier, redirect string, now time.Time) (token string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := sha256.Sum256([]byte(code))
	g, found := l.codes[key]
	delete(l.codes, key)
	sum := sha256.Sum256([]byte(verifier))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	if !found || !now.Before(g.expires) || g.redirect != redirect || !hmac.Equal([]byte(challenge), []byte(g.challenge)) {
		return "", false
	}
	return g.token, true
}

// exchange gives the tool the token for its code.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request) (string, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	w.Header().Set("Cache-Control", "no-store")
	if err := r.ParseForm(); err != nil || r.PostForm.Get("grant_type") != "authorization_code" {
		return "", sendOAuthError(w, "unsupported_grant_type", "expected an authorization code")
	}
	f := r.PostForm
	token, ok := s.opts.Login.redeem(f.Get("code"), f.Get("code_verifier"), f.Get("redirect_uri"), s.opts.Now())
	if !ok {
		return "", sendOAuthError(w, "invalid_grant", "the code is not valid, or no longer: start the login again")
	}
	return "", sendJSON(w, map[string]string{"access_token": token, "token_type": "bearer"})
}

func sendOAuthError(w http.ResponseWriter, code, description string) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	return sendJSON(w, map[string]string{"error": code, "error_description": description})
}
