// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatIsNotConnectedTo(t *testing.T) {
	for want, addresses := range map[bool][]string{
		true: {
			"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.42.42", "::ffff:169.254.169.254", "fe80::1%eth0", "fe80::a9fe:a9fe",
			"168.63.129.16", "100.100.100.200", "192.0.0.192", "224.0.0.1", "ff02::1",
			"fd00:ec2::254", "fd00:ec2::23", "fd00:ec2::123", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:100::100:200", "fd00:a9fe:a9fe::1",
			// Ways around by an address of IPv6 that leads to one of IPv4.
			"64:ff9b::a9fe:a9fe", "64:ff9b::6464:64c8", "64:ff9b:1::a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
			"2002:a9fe:a9fe::", "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::", "2001::5601:5601", "::169.254.169.254", "::ffff:0:169.254.169.254",
			"fec0::1", "2001:db8::5efe:169.254.169.254", "2001:db8::200:5efe:169.254.169.254", "fd12:3456::5efe:168.63.129.16",
		},
		false: {
			"127.0.0.1", "127.1.2.3", "::1", "0.0.0.0", "::", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "fd00::1", "fd12:3456::1",
			"1.1.1.1", "2606:4700::1111", "2001:db8::1", "2001:470::1", "64:ff9b::101:101", "fd00:ec3::1", "fd20:ce::253", "fd00:42::43",
			"2001:db8::5efe:10.0.0.1", "168.63.129.17", "100.100.100.201",
		},
	} {
		for _, address := range addresses {
			if got := Forbidden(netip.MustParseAddr(address)); got != want {
				t.Errorf("%s is forbidden: %v", address, got)
			}
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
	for host, want := range map[string]bool{"169.254.169.254": true, "[fd00:ec2::254]:80": true, "[2002:a9fe:a9fe::]": true, "10.0.0.1:80": false, "opa.example": false} {
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
		"no HTTP":                   {"http", "SSH-2.0-Secret_9.9\r\n", "the connection failed, or the response was invalid"},
		"a place that is none":      {"http", "HTTP/1.1 302 Found\r\nLocation: http://%zz/secret\r\n\r\n", "the connection failed, or the response was invalid"},
		"a length that is none":     {"http", "HTTP/1.1 200 OK\r\nContent-Length: Secret\r\n\r\n", "the connection failed, or the response was invalid"},
		"another scheme":            {"http", "HTTP/1.1 302 Found\r\nLocation: secret://x\r\n\r\n", "it redirects to a URL that is neither http:// nor https://"},
		"nothing":                   {"http", "", "the connection was closed without a response"},
		"HTTP where TLS was wanted": {"https", "HTTP/1.1 400 Secret\r\n\r\n", "it serves http, not https"},
		"no TLS":                    {"https", "SSH-2.0-Secret_9.9\r\n", "it does not serve TLS"},
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

// What was asked for over TLS is not fetched without it.
func TestARedirectionOutOfTLSIsNotFollowed(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked without TLS") }))
	defer plain.Close()
	var encrypted *httptest.Server
	encrypted = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/down":
			http.Redirect(w, r, plain.URL, http.StatusFound)
		case "/on-and-down":
			http.Redirect(w, r, encrypted.URL+"/down", http.StatusFound)
		case "/on":
			http.Redirect(w, r, encrypted.URL+"/end", http.StatusFound)
		}
	}))
	defer encrypted.Close()
	up := httptest.NewServer(http.RedirectHandler(encrypted.URL+"/end", http.StatusFound))
	defer up.Close()
	roots := x509.NewCertPool()
	roots.AddCert(encrypted.Certificate())
	for address, problem := range map[string]string{
		encrypted.URL + "/on": "", up.URL: "",
		encrypted.URL + "/down":        "it redirects from https:// to http://",
		encrypted.URL + "/on-and-down": "it redirects from https:// to http://",
	} {
		response, err := Client(Options{Timeout: 5 * time.Second, Redirects: 3, Roots: roots}).Get(address) //nolint:noctx // the client has a timeout
		if err == nil {
			response.Body.Close()
		}
		if (err != nil) != (problem != "") || err != nil && Explain(err) != problem {
			t.Errorf("%s: error %v, want %q", address, err, problem)
		}
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
		"no other scheme":                     {"/elsewhere", 3, 0, "it redirects to a URL that is neither http:// nor https://"},
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

// People who make firewalls read which addresses are left alone.
func TestThePageNamesEveryAddress(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "how-to", "confinement.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, network := range slices.Concat(metadata, opaque, embedding) {
		name := network.String()
		if network.IsSingleIP() {
			name = network.Addr().String()
		}
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/how-to/confinement.md does not name %s", name)
		}
	}
}
