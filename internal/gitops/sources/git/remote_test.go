// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

var main = Want{Ref: Ref{Branch: "main"}}

// commitTo creates a repository with one commit.
func commitTo(t *testing.T, server *gittest.Server) *gittest.Repository {
	t.Helper()
	r := server.Repository(t, "central")
	r.Commit(t, "first", gittest.Files{"main.tf": "one"})
	return r
}

func wantOne(t *testing.T, found *Found) {
	t.Helper()
	if got := fetched(t, found); got["main.tf"] != "one" {
		t.Errorf("the tree is %v", got)
	}
}

func TestBasicAuthOverTLS(t *testing.T) {
	server := gittest.New(t, gittest.TLS(), gittest.BasicAuth("reader", "s3cret"))
	r := commitTo(t, server)
	m := open(t, Options{})
	good := map[string][]byte{"username": []byte("reader"), "password": []byte("s3cret"), "ca.crt": server.CA()}
	wantOne(t, look(t, m, Upstream{URL: r.URL(), Secret: good}, main))
	wantOne(t, look(t, m, Upstream{URL: r.URL(), Secret: map[string][]byte{"username": []byte("reader"), "password": []byte("s3cret"), "caFile": server.CA()}}, main))
	inURL := strings.Replace(r.URL(), "https://", "https://reader:s3cret@", 1)
	wantOne(t, look(t, m, Upstream{URL: inURL, Secret: map[string][]byte{"ca.crt": server.CA()}}, main))

	bad := map[string]struct {
		up   Upstream
		word string
	}{
		"a wrong password":        {Upstream{URL: r.URL(), Secret: map[string][]byte{"username": []byte("reader"), "password": []byte("s3cret2"), "ca.crt": server.CA()}}, "refuses the credentials"},
		"no credentials":          {Upstream{URL: r.URL(), Secret: map[string][]byte{"ca.crt": server.CA()}}, "requires credentials"},
		"no user":                 {Upstream{URL: r.URL(), Secret: map[string][]byte{"password": []byte("s3cret")}}, "username"},
		"a token and a user":      {Upstream{URL: inURL, Secret: map[string][]byte{"bearerToken": []byte("s3cret"), "ca.crt": server.CA()}}, "only one of them"},
		"an authority that is no": {Upstream{URL: r.URL(), Secret: map[string][]byte{"ca.crt": []byte("s3cret")}}, "does not contain a certificate"},
		"half a pair of keys":     {Upstream{URL: r.URL(), Secret: map[string][]byte{"tls.crt": server.CA()}}, "tls.key"},
		"an app of GitHub":        {Upstream{URL: r.URL(), Secret: map[string][]byte{"githubAppID": []byte("1")}}, "GitHub app"},
	}
	for name, c := range bad {
		_, err := m.Look(patient(t), c.up, main)
		reason := ReasonAuthentication
		if name == "an app of GitHub" {
			reason = ReasonProvider
		}
		t.Run(name, func(t *testing.T) { wantFailure(t, err, reason, c.word) })
	}
	_, err := m.Look(patient(t), Upstream{URL: inURL}, main)
	wantFailure(t, err, ReasonOperation, "by an untrusted authority")
}

func TestBearerToken(t *testing.T) {
	server := gittest.New(t, gittest.BearerToken("s3cret"))
	r := commitTo(t, server)
	m := open(t, Options{})
	wantOne(t, look(t, m, Upstream{URL: r.URL(), Secret: map[string][]byte{"bearerToken": []byte("s3cret")}}, main))
	_, err := m.Look(patient(t), Upstream{URL: r.URL(), Secret: map[string][]byte{"bearerToken": []byte("other")}}, main)
	wantFailure(t, err, ReasonAuthentication, "refuses the credentials")
}

func TestSSH(t *testing.T) {
	server := gittest.New(t, gittest.SSH())
	r := commitTo(t, server)
	m := open(t, Options{})
	key := server.Authorize(t)
	up := Upstream{URL: server.SSHURL("central"), Secret: map[string][]byte{"identity": key, "known_hosts": server.KnownHosts()}}
	wantOne(t, look(t, m, up, main))
	head := r.Commit(t, "second", gittest.Files{"dir/x": "y"})
	found := look(t, m, up, main)
	if found.Revision != "main@sha1:"+head {
		t.Errorf("the revision is %s", found.Revision)
	}
	wantOne(t, found)
	if got := server.Counts("central"); got.Clones != 1 || got.Fetches != 2 {
		t.Errorf("the requests are %+v, want one clone and then one fetch", got)
	}

	with := func(name, value string) Upstream {
		other := Upstream{URL: up.URL, Secret: map[string][]byte{"identity": key, "known_hosts": server.KnownHosts()}}
		other.Secret[name] = []byte(value)
		return other
	}
	stranger := strings.Fields(string(gittest.New(t, gittest.SSH()).KnownHosts()))
	host := strings.Fields(string(server.KnownHosts()))
	bad := map[string]struct {
		up   Upstream
		word string
	}{
		"without known_hosts":             {with("known_hosts", ""), "ssh-keyscan 127.0.0.1"},
		"without a key":                   {with("identity", ""), "lacks identity"},
		"what is no key":                  {with("identity", "s3cret"), "cannot be read"},
		"an encrypted key, no password":   {with("identity", encryptedKey(t)), "no password"},
		"a key that is not let in":        {with("identity", string(gittest.New(t, gittest.SSH()).Authorize(t))), "refuses the key"},
		"a host with another key":         {with("known_hosts", fmt.Sprintln(host[0], stranger[1], stranger[2])), "does not match known_hosts"},
		"a host that nobody knows":        {with("known_hosts", fmt.Sprintln("example.com", stranger[1], stranger[2])), "does not match known_hosts"},
		"known_hosts that cannot be read": {with("known_hosts", "s3cret x"), "cannot be read"},
	}
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			_, err := m.Look(patient(t), c.up, main)
			wantFailure(t, err, ReasonAuthentication, c.word)
		})
	}
	_, err := m.Look(patient(t), Upstream{URL: server.SSHURL("other"), Secret: up.Secret}, main)
	wantFailure(t, err, ReasonOperation, "the server says")
}

func encryptedKey(t *testing.T) string {
	t.Helper()
	_, private := edKey(t)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	return pemOf(block)
}

func TestServersThatFail(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	m := open(t, Options{})
	up := Upstream{URL: r.URL()}
	for name, c := range map[string]struct {
		fault faulttest.Fault
		word  string
	}{
		"it ends connections":    {faulttest.Unreachable, "closed without a response"},
		"it is out of order":     {faulttest.Answer(http.StatusBadGateway), "502 Bad Gateway"},
		"it knows no repository": {faulttest.Answer(http.StatusNotFound), "the repository does not exist"},
		"it is no git server":    {faulttest.Answer(http.StatusOK), "not from a git server"},
		"it redirects to itself": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
			return true
		}, "redirects"},
		"it sends endless garbage":    {garbage("application/x-git-upload-pack-advertisement"), "not from a git server"},
		"it sends endless ends":       {endless("", "0000"), "keeps sending"},
		"an end, and it does not end": {endless("001e# service=git-upload-pack\n00000000", "x"), "keeps sending"},
		"nothing, and it does not end": {endless("001e# service=git-upload-pack\n0000"+
			"00400000000000000000000000000000000000000000 capabilities^{}\x00x=y0000", "0000"), "keeps sending"},
		"it sends endless services": {endless("", "001e# service=git-upload-pack\n"), "not from a git server"},
		"it sends endless shallow commits": {endless("001e# service=git-upload-pack\n0000"+
			"00400000000000000000000000000000000000000000 capabilities^{}\x00x=y", "0035shallow 1111111111111111111111111111111111111111\n"), "too big"},
		"it sends an endless line": {endless("fff0", "x"), "not from a git server"},
		"it redirects to a machine": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://169.254.169.254/info/refs?service=git-upload-pack", http.StatusFound)
			return true
		}, "metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			server.SetFault(c.fault)
			_, err := m.Look(patient(t), up, main)
			wantFailure(t, err, ReasonOperation, c.word)
		})
	}
	release := make(chan struct{})
	defer close(release)
	server.SetFault(faulttest.Stall(release))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := m.Look(ctx, up, main)
	wantFailure(t, err, ReasonOperation, "timeout")
	server.SetFault(nil)
	wantOne(t, look(t, m, up, main))
	// A failed fetch leaves nothing that later ones trust.
	r.Commit(t, "second", gittest.Files{"x": "y"})
	found := look(t, m, up, main)
	server.SetFault(garbage("application/x-git-upload-pack-result"))
	wantFailure(t, found.Fetch(patient(t), t.TempDir()), ReasonOperation)
	server.SetFault(nil)
	wantOne(t, found)
}

// endless sends a beginning, and then repeats something until the connection is closed.
func endless(begin, more string) faulttest.Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		sendForever(w, begin, more)
		return true
	}
}

func sendForever(w io.Writer, begin, more string) {
	more = strings.Repeat(more, 1+(32<<10)/len(more))
	for text, err := begin, error(nil); err == nil; text = more {
		_, err = io.WriteString(w, text)
	}
}

// Over ssh, too, a server that keeps sending does not have an empty repository. One with an empty
// repository stops after an empty request.
func TestServersThatGoOnOverSSH(t *testing.T) {
	server := gittest.New(t, gittest.SSH())
	server.Repository(t, "central")
	m := open(t, Options{})
	up := Upstream{URL: server.SSHURL("central"), Secret: map[string][]byte{"identity": server.Authorize(t), "known_hosts": server.KnownHosts()}}
	_, err := m.Look(patient(t), up, main)
	wantFailure(t, err, ReasonEmpty)
	for begin, word := range map[string]string{"0000": "keeps sending", "001e# service=git-upload-pack\n": "not from a git server"} {
		server.SetTalk(func(channel io.ReadWriter) { sendForever(channel, begin, begin) })
		_, err := m.Look(patient(t), up, main)
		wantFailure(t, err, ReasonOperation, word)
	}
}

func garbage(kind string) faulttest.Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", kind)
		for range 100 {
			if _, err := w.Write([]byte("this is no line of git's protocol")); err != nil {
				break
			}
		}
		return true
	}
}

func TestRepositoriesThatMove(t *testing.T) {
	server := gittest.New(t, gittest.BasicAuth("reader", "s3cret"))
	r := commitTo(t, server)
	other := gittest.New(t)
	seen := atomic.Pointer[string]{}
	theirs := commitTo(t, other)
	other.SetFault(func(_ http.ResponseWriter, r *http.Request) bool {
		if value := r.Header.Get("Authorization"); value != "" {
			seen.Store(&value)
		}
		return false
	})
	secret := map[string][]byte{"username": []byte("reader"), "password": []byte("s3cret")}
	server.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasPrefix(r.URL.Path, "/old/"):
			http.Redirect(w, r, strings.TrimPrefix(r.URL.RequestURI(), "/old"), http.StatusMovedPermanently)
		case strings.HasPrefix(r.URL.Path, "/away/"):
			http.Redirect(w, r, strings.TrimSuffix(theirs.URL(), "/central.git")+strings.TrimPrefix(r.URL.RequestURI(), "/away"), http.StatusMovedPermanently)
		default:
			return false
		}
		return true
	})
	m := open(t, Options{})
	wantOne(t, look(t, m, Upstream{URL: strings.Replace(r.URL(), "/central", "/old/central", 1), Secret: secret}, main))
	wantOne(t, look(t, m, Upstream{URL: strings.Replace(r.URL(), "/central", "/away/central", 1), Secret: secret}, main))
	if value := seen.Load(); value != nil {
		t.Error("the credentials were sent to the other host")
	}
}

func TestPathsWithEscapedCharacters(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "my team/it's 100%")
	r.Commit(t, "first", gittest.Files{"main.tf": "one"})
	at := (&url.URL{Scheme: "http", Host: strings.TrimPrefix(strings.SplitN(r.URL(), "/my", 2)[0], "http://"), Path: "/my team/it's 100%.git"}).String()
	wantOne(t, look(t, open(t, Options{}), Upstream{URL: at + "/"}, main))
	for path, want := range map[string]string{"/a/b": "'/a/b'", "/~/x": "'~/x'", "/it's; rm -rf $HOME": `'/it'\''s; rm -rf $HOME'`} {
		if got := quote(home(path)); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}

func TestProxies(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	var asked atomic.Int32
	through := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		if p.In.Header.Get("Proxy-Authorization") != "" {
			asked.Add(1)
		}
		p.Out.URL = p.In.URL
	}})
	defer through.Close()
	proxy, err := url.Parse(strings.Replace(through.URL, "http://", "http://user:s3cret@", 1))
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, Options{})
	wantOne(t, look(t, m, Upstream{URL: r.URL(), Proxy: proxy}, main))
	if asked.Load() != 2 {
		t.Errorf("%d requests went through the proxy, want 2", asked.Load())
	}
	_, err = m.Look(patient(t), Upstream{URL: "http://169.254.169.254/x", Proxy: proxy}, main)
	wantFailure(t, err, ReasonOperation, "metadata")
	key := gittest.New(t, gittest.SSH())
	_, err = m.Look(patient(t), Upstream{URL: key.SSHURL("central"), Proxy: proxy, Secret: map[string][]byte{"identity": key.Authorize(t), "known_hosts": key.KnownHosts()}}, main)
	wantFailure(t, err, ReasonAuthentication, "socks5://")
	through.Close()
	_, err = open(t, Options{}).Look(patient(t), Upstream{URL: r.URL(), Proxy: proxy}, main)
	wantFailure(t, err, ReasonOperation)
}

func TestURLsThatCannotBeUsed(t *testing.T) {
	m := open(t, Options{})
	for _, at := range []string{"", "x", "git@host:path", "ftp://h/x", "https:///x", "file://host/x", "file://relative", "https://h:x/", "git://h/x", "ext::sh -c true"} {
		_, err := m.Look(patient(t), Upstream{URL: at}, main)
		if failure := wantFailure(t, err, ReasonURL); !failure.Stalled {
			t.Errorf("the failure of %q is not stalled", at)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://reader:s3cret@" + l.Addr().String() + "/x"
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = m.Look(patient(t), Upstream{URL: nobody}, main)
	wantFailure(t, err, ReasonOperation, "refused")
}
