// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestWhatIsNotConnectedTo(t *testing.T) {
	for address, want := range map[string]bool{
		"169.254.169.254": true, "::ffff:169.254.169.254": true, "fe80::1%eth0": true, "fd00:ec2::254": true, "168.63.129.16": true,
		"100.100.100.200": true, "192.0.0.192": true, "224.0.0.1": true, "64:ff9b::a9fe:a9fe": true,
		"127.0.0.1": false, "::1": false, "10.0.0.1": false, "192.168.1.1": false, "fd00::1": false, "1.1.1.1": false, "64:ff9b::101:101": false,
	} {
		if got := Forbidden(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is forbidden: %v", address, got)
		}
	}
}

func TestMetadataServicesAreNotReached(t *testing.T) {
	redirecting := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/", http.StatusFound))
	defer redirecting.Close()
	for _, url := range []string{"http://169.254.169.254/latest/", "http://[fe80::1%25lo]:80/", redirecting.URL} {
		_, err := Client(Options{Timeout: 5 * time.Second, Redirects: 3}).Get(url) //nolint:bodyclose,noctx // there is none
		var forbidden *ForbiddenError
		if !errors.As(err, &forbidden) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A proxy connects in the server's place, where no dialer of ours sees the address.
func TestNoProxyIsAskedForAMetadataService(t *testing.T) {
	for host, want := range map[string]bool{"169.254.169.254": true, "[fd00:ec2::254]:80": true, "10.0.0.1:80": false, "opa.example": false} {
		_, err := proxy(httptest.NewRequest(http.MethodGet, "http://"+host+"/", nil))
		var forbidden *ForbiddenError
		if errors.As(err, &forbidden) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// What only the server can reach is not shown to those who make it ask there.
func TestWhatAServerSaysIsNotQuoted(t *testing.T) {
	for sentence, test := range map[string]struct{ scheme, says, want string }{
		"no HTTP":                   {"http", "SSH-2.0-Secret_9.9\r\n", "the connection failed, or what came was no answer"},
		"a place that is none":      {"http", "HTTP/1.1 302 Found\r\nLocation: http://%zz/secret\r\n\r\n", "the connection failed, or what came was no answer"},
		"a length that is none":     {"http", "HTTP/1.1 200 OK\r\nContent-Length: Secret\r\n\r\n", "the connection failed, or what came was no answer"},
		"another scheme":            {"http", "HTTP/1.1 302 Found\r\nLocation: secret://x\r\n\r\n", "it redirects to something else than http:// or https://"},
		"nothing":                   {"http", "", "the connection was closed without an answer"},
		"HTTP where TLS was wanted": {"https", "HTTP/1.1 400 Secret\r\n\r\n", "it speaks http, not https"},
		"no TLS":                    {"https", "SSH-2.0-Secret_9.9\r\n", "it does not speak TLS"},
	} {
		t.Run(sentence, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					conn.Read(make([]byte, 4096))
					conn.Write([]byte(test.says))
					conn.Close()
				}
			}()
			_, err = Client(Options{Timeout: 5 * time.Second, Redirects: 3}).Get(test.scheme + "://" + listener.Addr().String() + "/") //nolint:bodyclose,noctx // there is none
			if err == nil || Explain(err) != test.want {
				t.Errorf("%v is explained as %q", err, Explain(err))
			}
		})
	}
}

func TestHowFarRedirectionsAreFollowed(t *testing.T) {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/end":
		case "/elsewhere":
			http.Redirect(w, r, "ftp://127.0.0.1/", http.StatusFound)
		case "/once":
			http.Redirect(w, r, server.URL+"/end", http.StatusFound)
		default:
			http.Redirect(w, r, server.URL+"/loop", http.StatusFound)
		}
	}))
	defer server.Close()
	for sentence, test := range map[string]struct {
		path    string
		most    int
		status  int
		problem string
	}{
		"none is followed when none is to be": {"/once", 0, http.StatusFound, ""},
		"one is followed":                     {"/once", 3, http.StatusOK, ""},
		"a circle is left":                    {"/loop", 3, 0, "it redirects too often"},
		"no other scheme":                     {"/elsewhere", 3, 0, "it redirects to something else than http:// or https://"},
	} {
		t.Run(sentence, func(t *testing.T) {
			response, err := Client(Options{Timeout: 5 * time.Second, Redirects: test.most}).Get(server.URL + test.path) //nolint:noctx // the client has a timeout
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != test.status {
				t.Errorf("status %d", response.StatusCode)
			}
		})
	}
}

func TestHowURLsAreShown(t *testing.T) {
	for url, want := range map[string]string{
		"https://opa.example/v1":              "https://opa.example/v1",
		"https://me:secret@opa.example/v1":    "https://(sensitive)@opa.example/v1",
		"https://opa.example/v1?token=secret": "https://opa.example/v1?(sensitive)",
		"https://opa.example/a b#secret":      "https://opa.example/a%20b",
		"https://opa.example/%zz":             "(no URL)",
	} {
		if got := Show(url); got != want {
			t.Errorf("%s is shown as %s", url, got)
		}
	}
}

func TestANamedProxyIsAskedForWhatIsAllowedOnly(t *testing.T) {
	asked := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer proxy.Close()
	through, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := Client(Options{Timeout: 5 * time.Second, Proxy: through})
	response, err := client.Get("http://service.example/") //nolint:noctx // the client has a timeout
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	var forbidden *ForbiddenError
	if _, err := client.Get("http://169.254.169.254/latest/"); !errors.As(err, &forbidden) { //nolint:bodyclose,noctx // there is none
		t.Errorf("a metadata service is asked through it: %v", err)
	}
	if asked != 1 {
		t.Errorf("the proxy was asked %d times, want once", asked)
	}
	through.Host = "169.254.169.254:3128"
	if _, err := client.Get("http://service.example/"); !errors.As(err, &forbidden) { //nolint:bodyclose,noctx // there is none
		t.Errorf("a proxy that is a metadata service is asked: %v", err)
	}
}
