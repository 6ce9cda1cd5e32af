// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestWhereChecksLook(t *testing.T) {
	outputs := map[string]Output{"host": {Text: "db.example"}, "port": {Text: "5432"}, "token": {Text: "s3cret", Sensitive: true}, "list": {Text: `["a"]`}}
	for sentence, test := range map[string]struct {
		check                  infrav1.HealthCheck
		target, shown, problem string
	}{
		"a place as it is written":   {infrav1.HealthCheck{Type: "tcp", Address: "a:1"}, "a:1", "a:1", ""},
		"outputs":                    {infrav1.HealthCheck{Type: "tcp", Address: "${{.host}}:${{.port}}"}, "db.example:5432", "db.example:5432", ""},
		"what is no text is JSON":    {infrav1.HealthCheck{Type: "http", URL: "http://a/${{.list}}"}, `http://a/["a"]`, `http://a/["a"]`, ""},
		"a sensitive one is hidden":  {infrav1.HealthCheck{Type: "http", URL: "https://x:${{.token}}@${{.host}}/"}, "https://x:s3cret@db.example/", "https://x:(sensitive)@db.example/", ""},
		"one that is taken apart":    {infrav1.HealthCheck{Type: "http", URL: `https://${{ substr 0 2 .token }}.example`}, "https://s3.example", "https://(s.example", ""},
		"another mark is none":       {infrav1.HealthCheck{Type: "tcp", Address: "{{.host}}:1"}, "{{.host}}:1", "{{.host}}:1", ""},
		"an output that there isn't": {infrav1.HealthCheck{Name: "db", Type: "tcp", Address: "${{.nope}}:1"}, "", "", "health check db: spec.healthChecks[0].address: .nope has no value"},
	} {
		t.Run(sentence, func(t *testing.T) {
			probes, err := Prepare([]infrav1.HealthCheck{test.check}, outputs)
			if test.problem != "" {
				if err == nil || err.Error() != test.problem {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || probes[0].target != test.target || probes[0].Shown != test.shown {
				t.Errorf("%+v, %v", probes, err)
			}
		})
	}
}

func TestNoTemplateTellsASensitiveOutputInItsError(t *testing.T) {
	_, err := Prepare([]infrav1.HealthCheck{{Name: "c", Type: "tcp", Address: "${{ fail .token }}"}}, map[string]Output{"token": {Text: "s3cret", Sensitive: true}})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}

func TestHowLongAProbeTakes(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 20 * time.Second, time.Second: time.Second, time.Hour: 5 * time.Minute} {
		probes, err := Prepare([]infrav1.HealthCheck{{Type: "tcp", Timeout: &metav1.Duration{Duration: given}}, {Type: "http"}}, nil)
		if err != nil || probes[0].Timeout != want || probes[1].Timeout != 20*time.Second {
			t.Errorf("%s: %+v, %v", given, probes, err)
		}
	}
}

// closed is an address without a listener.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// silent accepts connections and never responds.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// talking returns an address with a fixed response.
func talking(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096))
			conn.Write([]byte(text))
			conn.Close()
		}
	}()
	return l.Addr().String()
}

func TestWhatIsHealthy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		case "/unchanged":
			w.WriteHeader(http.StatusNotModified)
		case "/bad":
			http.Error(w, "the password is hunter2", http.StatusBadRequest)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		}
	}))
	defer server.Close()
	tls := httptest.NewTLSServer(server.Config.Handler)
	defer tls.Close()
	nobody, quiet, banner := closed(t), silent(t), talking(t, "SSH-2.0-Secret_9.9\r\n")
	tcp := func(address string) infrav1.HealthCheck {
		return infrav1.HealthCheck{Name: "c", Type: "tcp", Address: address}
	}
	get := func(url string) infrav1.HealthCheck { return infrav1.HealthCheck{Name: "c", Type: "http", URL: url} }
	for sentence, test := range map[string]struct {
		check infrav1.HealthCheck
		want  string // empty: healthy
	}{
		"somebody listens":                 {tcp(quiet), ""},
		"nobody listens":                   {tcp(nobody), "TCP health check error: c, url: " + nobody + "\nthe connection was refused"},
		"an address without a port":        {tcp("localhost"), "TCP health check error: c, url: localhost\nthe address must be HOST:PORT"},
		"an empty address":                 {tcp(""), "TCP health check error: c, url: \nthe address must be HOST:PORT"},
		"an address without a host":        {tcp(":80"), "TCP health check error: c, url: :80\nit names no host"},
		"an address with a scheme":         {tcp("http://a:80"), "TCP health check error: c, url: http://a:80\nthe address must be HOST:PORT, without a scheme"},
		"a port out of range":              {tcp("a:65536"), "TCP health check error: c, url: a:65536\nthe port must be a number from 1 to 65535"},
		"the machine's metadata":           {tcp("169.254.169.254:80"), "TCP health check error: c, url: 169.254.169.254:80\nconnections to such addresses are refused: they may be the metadata service of the machine"},
		"it speaks another protocol":       {get("http://" + banner), "HTTP health check error: c, url: http://" + banner + "\nthe connection failed, or the response was invalid"},
		"it answers":                       {get(server.URL), ""},
		"it leads elsewhere":               {get(server.URL + "/moved"), ""},
		"what is no success nor a failure": {get(server.URL + "/unchanged"), ""},
		"it says that something is wrong":  {get(server.URL + "/bad"), "HTTP health check error: c, url: " + server.URL + "/bad\nit answered with status 400 Bad Request"},
		"it leads in a circle":             {get(server.URL + "/loop"), "HTTP health check error: c, url: " + server.URL + "/loop\nit redirects too often"},
		"no URL":                           {get("invalid.com"), "HTTP health check error: c, url: invalid.com\nit is not a URL"},
		"an empty URL":                     {get(""), "HTTP health check error: c, url: \nit is not a URL"},
		"another scheme":                   {get("file:///etc/passwd"), "HTTP health check error: c, url: file:///etc/passwd\nthe URL must begin with http:// or https://"},
		"a certificate nobody knows":       {get(tls.URL), "HTTP health check error: c, url: " + tls.URL + "\nits certificate is signed by an untrusted authority"},
		"no response in time": {infrav1.HealthCheck{Name: "c", Type: "http", URL: "http://" + quiet, Timeout: &metav1.Duration{Duration: 50 * time.Millisecond}},
			"HTTP health check error: c, url: http://" + quiet + "\nno answer within 50ms"},
	} {
		t.Run(sentence, func(t *testing.T) {
			probes, err := Prepare([]infrav1.HealthCheck{test.check}, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = Look(t.Context(), probes)
			if got := errorText(err); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTheFirstFailureIsTold(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	probes, err := Prepare([]infrav1.HealthCheck{{Name: "one", Type: "tcp", Address: silent(t)}, {Name: "two", Type: "tcp", Address: closed(t)}, {Name: "three", Type: "http", URL: server.URL}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var failed *FailedError
	if err := Look(t.Context(), probes); !errors.As(err, &failed) || failed.Probe.Name != "two" {
		t.Errorf("%v", err)
	}
}

func TestNoFailureTellsASensitiveOutput(t *testing.T) {
	for _, url := range []string{"http://${{.token}}.invalid/", "http://127.0.0.1:1/${{.token}}", "${{.token}}", "http://127.0.0.1:${{.token}}/", "http://x:${{.token}}@169.254.169.254/"} {
		probes, err := Prepare([]infrav1.HealthCheck{{Name: "c", Type: "http", URL: url}, {Name: "c", Type: "tcp", Address: url}}, map[string]Output{"token": {Text: "s3cret", Sensitive: true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range probes {
			if text := errorText(Look(t.Context(), []Probe{p})); text == "" || strings.Contains(text, "s3cret") {
				t.Errorf("%s %s: %q", p.Kind, url, text)
			}
		}
	}
}
