// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

func TestNothingUnverifiedIsServedOrStored(t *testing.T) {
	empty, wrong := "", "no signature at all"
	for name, c := range map[string]struct {
		change func(*registrytest.Release)
		spoil  func(*world)
		want   string
	}{
		"another archive than the signed one": {
			spoil: func(w *world) {
				w.origin.Break("/archive", w.origin.Changed(func(b []byte) []byte { return append(b, 0) }))
			},
			want: "but the signed list has",
		},
		"another checksum than the signed one": {
			spoil: func(w *world) {
				sum := hexSum(program(w.t, "1.0.0"))
				w.origin.Break("/download/", w.origin.Changed(func(b []byte) []byte {
					return bytes.Replace(b, []byte(`"shasum":"`+sum), []byte(`"shasum":"`+strings.Repeat("0", 64)), 1)
				}))
			},
			want: "the origin says that the archive has the SHA-256 sum 0000",
		},
		"changed checksums": {
			spoil: func(w *world) {
				w.origin.Break("/sums", w.origin.Changed(func(b []byte) []byte { return bytes.Replace(b, []byte("1"), []byte("2"), 1) }))
			},
			want: "signature of the list of checksums is wrong",
		},
		"no signature":       {change: func(r *registrytest.Release) { r.Signature = &empty }, want: "is not signed"},
		"a wrong signature":  {change: func(r *registrytest.Release) { r.Signature = &wrong }, want: "signature of the list of checksums is wrong"},
		"no key":             {change: func(r *registrytest.Release) { r.NoKeys = true }, want: "there are none"},
		"no archive in list": {change: func(r *registrytest.Release) { r.Sums = func(string) string { return "" } }, want: "has no archive of this version"},
		"a list of nonsense": {change: func(r *registrytest.Release) { r.Sums = func(s string) string { return s + "x y z\n" } }, want: "line 3"},
		"two sums of one": {change: func(r *registrytest.Release) {
			r.Sums = func(s string) string { return s + strings.Repeat("ab", 32) + s[64:] }
		}, want: "has two checksums"},
		"another key": {
			spoil: func(w *world) {
				other := registrytest.NewSigner(w.t, time.Now().Add(-time.Hour), 0)
				w.origin.Break("/signature", func(rw writer, _ *request) bool {
					_, _ = rw.Write(other.Sign(w.t, []byte("else"), time.Now()))
					return true
				})
			},
			want: "signed by a key that is not one of the signing keys",
		},
		"a false content hash": {
			change: func(r *registrytest.Release) {
				r.Report = map[string]registrytest.Reported{linux.String(): {Hashes: []string{"h1:" + strings.Repeat("A", 43) + "="}, Size: 1}}
			},
			want: "reports the content hash",
		},
		"a false archive hash": {
			change: func(r *registrytest.Release) {
				r.Report = map[string]registrytest.Reported{linux.String(): {Hashes: []string{"zh:" + strings.Repeat("0", 64)}, Size: 1}}
			},
			want: "but the signed list has",
		},
		"an archive that is none": {
			change: func(r *registrytest.Release) { r.Archives[linux.String()] = []byte("<html>") },
			want:   "not a zip archive",
		},
		"an archive that leaves its directory": {
			change: func(r *registrytest.Release) {
				r.Archives[linux.String()] = registrytest.Zip(t, map[string][]byte{"../evil": nil})
			},
			want: "does not stay in the directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			change := c.change
			if change == nil {
				change = func(*registrytest.Release) {}
			}
			w.publish("1.0.0", change)
			if c.spoil != nil {
				c.spoil(w)
			}
			_, err := w.read(t.Context(), w.thing("1.0.0"), linux)
			var untrusted *UntrustedError
			if !errors.As(err, &untrusted) || !errors.Is(err, offer.ErrUpstream) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			for _, key := range w.objects("mirror/") {
				if strings.HasSuffix(key, ".zip") {
					t.Errorf("stored %s", key)
				}
			}
		})
	}
}

func TestUnsignedReleasesComeFromOpenTofusRegistryOnly(t *testing.T) {
	w := newWorld(t)
	v := layout.ProviderVersion{Provider: layout.Provider{Host: hostUnsigned, Namespace: "acme", Name: "thing"}, Version: "1.0.0"}
	sums := []byte(hexSum([]byte("x")) + "  " + v.Archive(linux) + "\n")
	if r, err := w.verify(v, sums, []byte("any"), nil, time.Time{}); err != nil || r.Signer != "" {
		t.Errorf("without a key: %v", err)
	}
	signer := registrytest.NewSigner(t, time.Now().Add(-time.Hour), 0)
	keys := []release.Key{{ID: signer.ID(), Armor: signer.Armor}}
	if _, err := w.verify(v, sums, []byte("any"), keys, time.Time{}); err == nil {
		t.Error("with a key, a wrong signature was accepted")
	}
	v.Host = "registry.example.com"
	if _, err := w.verify(v, sums, []byte("any"), nil, time.Time{}); err == nil {
		t.Error("another registry's was accepted")
	}
}

func TestKeysThatExpired(t *testing.T) {
	created := time.Now().Add(-48 * time.Hour)
	for name, c := range map[string]struct {
		refuse bool
		want   string
	}{
		"accepted as tofu does": {},
		"refused on request":    {true, "signed by an expired key"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.RefuseExpired = c.refuse })
			w.publish("1.0.0", func(r *registrytest.Release) { r.Signer = registrytest.NewSigner(t, created, time.Hour) })
			_, err := w.read(t.Context(), w.thing("1.0.0"), linux)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestDownloadsGoOnWhereTheyBroke(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	w.origin.Break("/archive", w.origin.Cut(0.4, false))
	if data, err := w.read(t.Context(), w.thing("1.0.0"), linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
		t.Errorf("%v", err)
	}
	if n := w.origin.Requests("/archive"); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestDownloadsThatFail(t *testing.T) {
	silence = 200 * time.Millisecond
	t.Cleanup(func() { silence = 30 * time.Second })
	for name, c := range map[string]struct {
		fault func(*registrytest.Registry) faulttest.Fault
		want  string
	}{
		"always reset": {func(r *registrytest.Registry) faulttest.Fault { return r.Cut(0.5, true) }, "the connection was closed"},
		"silent":       {func(r *registrytest.Registry) faulttest.Fault { return r.Silent }, "the server sent nothing for a while"},
		"gone":         {func(*registrytest.Registry) faulttest.Fault { return faulttest.Answer(404) }, "404"},
		"plain http":   {func(*registrytest.Registry) faulttest.Fault { return registrytest.Redirect("http://example.com/x") }, "it redirects to a URL that is not https://"},
		"metadata": {func(*registrytest.Registry) faulttest.Fault {
			return registrytest.Redirect("https://169.254.169.254/x")
		}, "metadata service"},
		"another machine": {func(*registrytest.Registry) faulttest.Fault { return registrytest.Redirect("https://10.1.2.3/x") }, "10.1.2.3 has an address on this machine or in a private network"},
		"this machine":    {func(*registrytest.Registry) faulttest.Fault { return registrytest.Redirect("https://localhost:1/x") }, "localhost:1 has an address on this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0")
			w.origin.Break("/archive", c.fault(w.origin))
			_, err := w.read(t.Context(), w.thing("1.0.0"), linux)
			if !errors.Is(err, offer.ErrUpstream) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			w.origin.Break("/archive", nil)
			if data, err := w.read(t.Context(), w.thing("1.0.0"), linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestOriginsOnThisMachineMustBeNamed(t *testing.T) {
	for _, allow := range [][]string{nil, {"*/*/*"}, {"127.0.0.*/*/*"}} {
		w := newWorld(t, func(o *Options) { o.Allow = allow })
		w.publish("1.0.0")
		_, err := w.Versions(t.Context(), w.provider("acme/thing"))
		if err == nil && len(allow) > 0 && strings.HasPrefix(allow[0], "127") {
			t.Error("a pattern names no host")
		}
		if err == nil || w.origin.Requests("") > 0 {
			t.Errorf("%q: %v, %d requests", allow, err, w.origin.Requests(""))
		}
	}
}

func TestAllowAndDeny(t *testing.T) {
	for _, c := range []struct {
		allow, deny []string
		provider    string
		want        string
	}{
		{nil, nil, "registry.opentofu.org/hashicorp/aws", ""},
		{[]string{"registry.opentofu.org/hashicorp/*"}, nil, "registry.opentofu.org/hashicorp/aws", ""},
		{[]string{"registry.opentofu.org/hashicorp/*"}, nil, "registry.opentofu.org/acme/aws", "allows only registry.opentofu.org/hashicorp/*"},
		{[]string{"*/hashicorp/*"}, []string{"*/*/aws"}, "registry.opentofu.org/hashicorp/aws", "denies */*/aws"},
		{nil, []string{"registry.terraform.io/*/*"}, "registry.opentofu.org/hashicorp/aws", ""},
		{nil, []string{"registry.terraform.io/*/*"}, "registry.terraform.io/hashicorp/aws", "denies registry.terraform.io"},
	} {
		r, err := parseRules(c.allow, c.deny)
		if err != nil {
			t.Fatal(err)
		}
		p, err := layout.ParseProvider(c.provider)
		if err != nil {
			t.Fatal(err)
		}
		err = r.check(p)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, offer.ErrRefused) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v", c, err)
		}
	}
	for _, pattern := range []string{"hashicorp/*", "*", "a/b/c/d", "a/b/[", "A/b/c", "a/ b/c"} {
		if _, err := parseRules([]string{pattern}, nil); err == nil {
			t.Errorf("%q was accepted", pattern)
		}
	}
}

func TestAFullStoreLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	full := func(key string) error {
		if strings.HasSuffix(key, ".zip") {
			return fmt.Errorf("write: %w", syscall.ENOSPC)
		}
		return nil
	}
	w.bucket.full.Store(&full)
	_, err := w.read(t.Context(), w.thing("1.0.0"), linux)
	var store *offer.StoreError
	if !errors.As(err, &store) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	w.bucket.full.Store(nil)
	if data, err := w.read(t.Context(), w.thing("1.0.0"), linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
		t.Errorf("afterwards: %v", err)
	}
}
