// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package callhome_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/platform/callhome"
)

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// Whoever has the token of one node must not reach the machine of whoever uses its kubeconfig.
func TestHostileKubeconfigs(t *testing.T) {
	w := newWorld(t)
	good := string(w.kubeconfig("https://203.0.113.7:6443"))
	user := "client-key-data: " + `"` + base64Of([]byte("the key")) + `"`
	cluster := `server: "https://203.0.113.7:6443"`
	for name, test := range map[string]struct{ old, replaced, want string }{
		"a program":               {user, user + `, exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, interactiveMode: Never}`, "its user may only have"},
		"an old login":            {user, user + `, auth-provider: {name: gcp}`, "its user may only have"},
		"a file as the token":     {user, user + `, tokenFile: /etc/shadow`, "its user may only have"},
		"a file as the key":       {user, user + `, client-key: /root/.ssh/id_rsa`, "its user may only have"},
		"another identity":        {user, user + `, as: system:admin`, "its user may only have"},
		"no credential":           {user, "", "its user has neither"},
		"a proxy":                 {cluster, cluster + `, proxy-url: "http://198.51.100.1"`, "its cluster may only have"},
		"an unverified server":    {cluster, cluster + `, insecure-skip-tls-verify: true`, "its cluster may only have"},
		"another server's name":   {cluster, cluster + `, tls-server-name: example.com`, "its cluster may only have"},
		"clear text":              {"https://", "http://", "is not an https URL"},
		"a name in the URL":       {"https://203", "https://admin@203", "is not an https URL"},
		"the loopback interface":  {"203.0.113.7", "127.0.0.1", "which is another machine here"},
		"the metadata of a cloud": {"203.0.113.7", "169.254.169.254", "which is another machine here"},
		"every address":           {"203.0.113.7", "0.0.0.0", "which is another machine here"},
		"this machine's name":     {"203.0.113.7", "localhost", "which is another machine here"},
		"no context":              {"current-context: default", "current-context: other", "current-context is missing"},
		"no such user":            {"user: default}}]", "user: other}}]", "the user of its current-context is missing"},
		"no authority":            {"certificate-authority-data: ", "x: ", "not a certificate in PEM"},
	} {
		text := strings.Replace(good, test.old, test.replaced, 1)
		if text == good {
			t.Fatalf("%s: nothing was replaced", name)
		}
		if code, answer := w.put(w.token, []byte(text)); code != http.StatusUnprocessableEntity || !strings.Contains(answer, test.want) {
			t.Errorf("%s: %d %s, want %q", name, code, answer, test.want)
		}
	}
	// What a parser says about a broken file would quote it.
	if _, answer := w.put(w.token, []byte("users: my-secret-key\nclusters: [")); strings.Contains(answer+w.log.String(), "my-secret-key") {
		t.Error(answer, w.log)
	}
	if callhome.StateOf(w.ticket(), began) != callhome.Waiting {
		t.Error("a refused kubeconfig spent the token")
	}
	if code, answer := w.put(w.token, []byte(good)); code != http.StatusNoContent {
		t.Error(code, answer)
	}
}

func TestLifetimesHaveLimits(t *testing.T) {
	for _, lifetime := range []time.Duration{-time.Second, 0, callhome.MaxLifetime + 1} {
		if _, _, err := callhome.New(began, lifetime); err == nil {
			t.Errorf("a token lives %s", lifetime)
		}
	}
	one, _, err := callhome.New(began, time.Minute)
	two, _, err2 := callhome.New(began, time.Minute)
	if err != nil || err2 != nil || one == two || len(one) != 43 {
		t.Error(one, two, err, err2)
	}
}

// A damaged ticket takes nothing.
func TestDamagedTickets(t *testing.T) {
	w := newWorld(t)
	for _, damage := range []func(map[string][]byte){
		func(d map[string][]byte) { d["expires"] = []byte("soon") },
		func(d map[string][]byte) { delete(d, "expires") },
		func(d map[string][]byte) { d["token-sha256"] = nil },
	} {
		s := w.ticket()
		damage(s.Data)
		if err := w.api.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if code, text := w.put(w.token, w.kubeconfig("https://203.0.113.7:6443")); code != http.StatusUnauthorized {
			t.Errorf("%d %s", code, text)
		}
		if got := callhome.StateOf(s, began); got != callhome.Expired {
			t.Errorf("a damaged ticket is %s", got)
		}
	}
}
