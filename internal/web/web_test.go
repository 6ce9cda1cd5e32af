// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestALinkLogsInOnce(t *testing.T) {
	w := newWorld(t)
	path, err := w.page.Link(admin())
	if err != nil {
		t.Fatal(err)
	}
	b := w.nobody()
	if code, body := b.get(path); code != http.StatusOK || !strings.Contains(body, `action="/login/link"`) {
		t.Fatalf("opening the link: %d %s", code, body)
	}
	if code, to := b.post("/login/link", "code", codeOf(t, path), "to", "/stacks?q=a"); code != http.StatusSeeOther || to != "/stacks?q=a" {
		t.Fatalf("using the link: %d to %s", code, to)
	}
	if code, body := b.get("/"); code != http.StatusOK || !strings.Contains(body, "Logged in as <b>root</b>") {
		t.Errorf("the inbox after the login: %d %s", code, body)
	}
	if code, body := w.nobody().post("/login/link", "code", codeOf(t, path)); code != http.StatusUnauthorized || !strings.Contains(body, "yuba web") {
		t.Errorf("the link worked twice: %d %s", code, body)
	}
}

func TestALinkExpires(t *testing.T) {
	w := newWorld(t)
	path, err := w.page.Link(admin())
	if err != nil {
		t.Fatal(err)
	}
	w.clock.pass(2 * time.Minute)
	if code, _ := w.nobody().post("/login/link", "code", codeOf(t, path)); code != http.StatusUnauthorized {
		t.Errorf("an old link: %d", code)
	}
}

// Who logs in by a token is whom the API server names, for as long as the token lives.
func TestATokenLogsIn(t *testing.T) {
	w, c := newWorld(t), apitest.Client(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace(t), Name: "robot"}}
	if err := c.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	seconds := int64(600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	b := w.nobody()
	if code, body := b.post("/login", "token", request.Status.Token); code != http.StatusSeeOther {
		t.Fatalf("a token: %d %s", code, body)
	}
	if _, body := b.get("/"); !strings.Contains(body, account.Namespace+"/robot") {
		t.Errorf("the page does not say who is logged in: %s", body)
	}
	w.clock.pass(11 * time.Minute)
	if code, to := b.get("/"); code != http.StatusSeeOther {
		t.Errorf("after the token's end: %d %s", code, to)
	}
	if code, _ := w.nobody().post("/login", "token", "x.y.z"); code != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", code)
	}
}

func TestSessionsSurviveARestartAndEndEverywhere(t *testing.T) {
	w := newWorld(t)
	first, second := w.login(admin()), w.login(admin())
	var secrets corev1.SecretList
	if err := apitest.Client(t).List(t.Context(), &secrets, client.InNamespace(sessionsOf(w))); err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets.Items {
		for _, cookie := range first.cookies {
			if strings.Contains(string(secret.Data["session"])+secret.Name, cookie) {
				t.Error("a Secret contains the cookie")
			}
		}
	}
	restarted := newWorld(t, func(o *Options) { o.Namespace = sessionsOf(w) })
	for _, b := range []*person{first, second} {
		b.world = restarted
		if code, _ := b.get("/"); code != http.StatusOK {
			t.Errorf("after a restart: %d", code)
		}
	}
	if code, to := first.post("/logout", "everywhere", "yes"); code != http.StatusSeeOther || to != "/login" {
		t.Fatalf("logout: %d %s", code, to)
	}
	if code, _ := second.get("/"); code != http.StatusSeeOther {
		t.Errorf("the other session after a logout everywhere: %d", code)
	}
}

// Without a session nothing is shown, nothing is done, and nobody is led to another site.
func TestStrangersGetNothing(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/", "/stacks", "/stacks/a/b"} {
		r := w.nobody().request(http.MethodGet, path, "")
		code, header, body := w.nobody().do(r)
		if code != http.StatusSeeOther || header.Get("Location") != "/login?to="+url.QueryEscape(path) || strings.Contains(body, "<main") {
			t.Errorf("%s: %d to %s: %s", path, code, header.Get("Location"), body)
		}
	}
	if code, _ := w.nobody().post("/stacks/a/b/approve", "plan", "x"); code != http.StatusUnauthorized {
		t.Errorf("an action without a session: %d", code)
	}
	forged := w.nobody()
	forged.cookies["__Host-yuba"] = "forged"
	if code, _ := forged.get("/"); code != http.StatusSeeOther {
		t.Errorf("a forged cookie: %d", code)
	}
	for _, to := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "javascript:alert(1)", "evil"} {
		path, err := w.page.Link(admin())
		if err != nil {
			t.Fatal(err)
		}
		if _, location := w.nobody().post("/login/link", "code", codeOf(t, path), "to", to); location != "/" {
			t.Errorf("a login leads from %q to %q", to, location)
		}
	}
}

func TestAttemptsAreLimited(t *testing.T) {
	w := newWorld(t)
	last := 0
	for range 12 {
		last, _ = w.nobody().post("/login", "token", "wrong")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the twelfth wrong token: %d", last)
	}
}

// Another site in the same browser, and another name for this machine, get nothing.
func TestOtherSitesAreKeptOut(t *testing.T) {
	w := newWorld(t)
	b := w.login(admin())
	namespace := apitest.Namespace(t)
	s := stack(t, namespace, "a")
	for name, header := range map[string][2]string{
		"another site":   {"Sec-Fetch-Site", "cross-site"},
		"a sibling site": {"Sec-Fetch-Site", "same-site"},
		"another origin": {"Origin", "https://evil.example"},
	} {
		r := b.request(http.MethodPost, "/stacks/"+namespace+"/a/approve", url.Values{"plan": {s.Status.Plan.Pending}, "digest": {s.Status.Plan.Digest}}.Encode())
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(header[0], header[1])
		if code, _, body := b.do(r); code != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	for host, want := range map[string]int{"evil.example": http.StatusMisdirectedRequest, "evil.example:80": http.StatusMisdirectedRequest,
		"localhost": http.StatusOK, "127.0.0.1:1": http.StatusOK, "[::1]:7080": http.StatusOK, "": http.StatusOK} {
		r := b.request(http.MethodGet, "/", "")
		r.Host = host
		if code, _, _ := b.do(r); code != want {
			t.Errorf("host %q: %d, want %d", host, code, want)
		}
	}
	code, header, _ := b.do(b.request(http.MethodGet, "/", ""))
	if csp := header.Get("Content-Security-Policy"); code != http.StatusOK || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("content security policy: %q", csp)
	}
}

func TestThePagesNameIsThatOfItsURL(t *testing.T) {
	public, err := url.Parse("https://yuba.example.com")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *Options) { o.URL = public })
	b := w.login(admin())
	r := b.request(http.MethodGet, "/", "")
	r.Host = "yuba.example.com"
	if code, header, _ := b.do(r); code != http.StatusOK || header.Get("Strict-Transport-Security") == "" {
		t.Errorf("by its URL: %d, Strict-Transport-Security %q", code, header.Get("Strict-Transport-Security"))
	}
	for _, bad := range []string{"yuba.example.com", "ftp://a.b", "https://a.b/c"} {
		u, err := url.Parse(bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newGuard(Options{URL: u}); err == nil {
			t.Errorf("--web-url %s is accepted", bad)
		}
	}
}

// A page shows what its person may list, and offers what they may do.
func TestPeopleSeeWhatTheyMay(t *testing.T) {
	w := newWorld(t)
	mine, others := apitest.Namespace(t), apitest.Namespace(t)
	s := stack(t, mine, "mine")
	stack(t, others, "others")
	eve := w.login(viewer(t, "eve-"+mine, mine))
	root := w.login(admin())
	eventually(t, "root sees both", func() bool {
		_, body := root.get("/stacks")
		return strings.Contains(body, mine+"/mine") && strings.Contains(body, others+"/others")
	})
	for _, path := range []string{"/", "/stacks"} {
		_, body := eve.get(path)
		if !strings.Contains(body, mine+"/mine") || strings.Contains(body, others) {
			t.Errorf("%s for eve: %s", path, body)
		}
	}
	if _, body := eve.get("/"); !strings.Contains(body, "disabled title=\"You need the right to patch terraforms.infra.contrib.fluxcd.io in namespace "+mine) {
		t.Errorf("the button of a viewer is not disabled: %s", body)
	}
	if _, to := eve.post("/stacks/"+mine+"/mine/approve", "plan", s.Status.Plan.Pending, "digest", s.Status.Plan.Digest); to != "/" {
		t.Errorf("a refused approval leads to %q", to)
	}
	if _, body := eve.get("/"); !strings.Contains(body, "You may not do this") {
		t.Errorf("a refusal is not told: %s", body)
	}
	var after infrav1.Terraform
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(s), &after); err != nil || after.Spec.ApprovePlan != "" {
		t.Errorf("a viewer approved: %q %v", after.Spec.ApprovePlan, err)
	}
}

// An approval is for the bytes that the person saw.
func TestAMovedPlanIsNotApproved(t *testing.T) {
	w := newWorld(t)
	root, namespace := w.login(admin()), apitest.Namespace(t)
	s := stack(t, namespace, "a")
	path := "/stacks/" + namespace + "/a/approve"
	for name, form := range map[string][]string{
		"no plan":       {"digest", s.Status.Plan.Digest},
		"another plan":  {"plan", "plan-main-2", "digest", s.Status.Plan.Digest},
		"another bytes": {"plan", s.Status.Plan.Pending, "digest", "sha256:b"},
		"no bytes":      {"plan", s.Status.Plan.Pending},
	} {
		root.post(path, form...)
		if _, body := root.get("/"); !strings.Contains(body, "Nothing was approved") {
			t.Errorf("%s: nothing is said: %s", name, body)
		}
	}
	var after infrav1.Terraform
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(s), &after); err != nil || after.Spec.ApprovePlan != "" {
		t.Errorf("approved: %q %v", after.Spec.ApprovePlan, err)
	}
	root.post(path, "plan", s.Status.Plan.Pending, "digest", s.Status.Plan.Digest)
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(s), &after); err != nil || after.Spec.ApprovePlan != s.Status.Plan.Pending {
		t.Errorf("not approved: %q %v", after.Spec.ApprovePlan, err)
	}
}

func TestAnonymousPeopleOnlyRead(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Anonymous = true })
	b := w.nobody()
	if code, body := b.get("/"); code != http.StatusOK || !strings.Contains(body, `href="/login"`) {
		t.Errorf("the inbox without a login: %d %s", code, body)
	}
	if _, to := b.post("/stacks/a/b/approve", "plan", "x"); to != "/" {
		t.Errorf("an anonymous action leads to %s", to)
	}
	if _, body := b.get("/"); !strings.Contains(body, "Only people who have logged in") {
		t.Errorf("an anonymous action is not refused: %s", body)
	}
}

// An open page shows a change of an object without being asked, and ends with its session.
func TestOpenPagesFollowChanges(t *testing.T) {
	w := newWorld(t)
	namespace := apitest.Namespace(t)
	b := w.login(admin())
	r := b.request(http.MethodGet, "/stacks?q="+namespace, "")
	r.Header.Set("Accept", "text/event-stream")
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 10<<20)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", text, lines.Err())
	}
	until("event: edition")
	until("event: parts")
	stack(t, namespace, "late")
	until(namespace + "/late")
}

// sessionsOf is the namespace of a world's sessions.
func sessionsOf(w *world) string { return w.page.logins.Namespace }
