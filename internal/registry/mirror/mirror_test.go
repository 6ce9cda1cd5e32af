// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

func TestTheWholeIndexIsMirrored(t *testing.T) {
	w := newWorld(t)
	for _, version := range []string{"1.2.0", "1.10.0", "1.10.0-rc1", "0.9.0"} {
		w.publish(version)
	}
	list, err := w.Versions(t.Context(), w.provider("acme/thing"))
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, v := range list {
		versions = append(versions, v.Version)
		if len(v.Platforms) != 2 || len(v.Protocols) != 2 {
			t.Errorf("%+v", v)
		}
	}
	if got := strings.Join(versions, " "); got != "1.10.0 1.10.0-rc1 1.2.0 0.9.0" {
		t.Error(got)
	}
	// Within the time to live nobody is asked, not even after a restart.
	w.restart()
	if _, err := w.Versions(t.Context(), w.provider("acme/thing")); err != nil || w.origin.Requests("versions") != 1 {
		t.Errorf("%v, %d requests", err, w.origin.Requests("versions"))
	}
	w.publish("2.0.0")
	w.pass(DefaultTTL)
	list, err = w.Versions(t.Context(), w.provider("acme/thing"))
	if err != nil || list[0].Version != "2.0.0" {
		t.Errorf("%v %v", list, err)
	}
}

func TestAnArchiveIsDownloadedOnceForAThousandColdClients(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	resume := w.origin.Halt()
	var clients sync.WaitGroup
	want := program(t, "1.0.0")
	for range 1000 {
		clients.Go(func() {
			if data, err := w.read(t.Context(), w.thing("1.0.0"), linux); err != nil || !bytes.Equal(data, want) {
				t.Errorf("%d bytes, %v", len(data), err)
			}
		})
	}
	until(t, func() bool { return w.flights.Waiting() >= 1000 })
	resume()
	clients.Wait()
	if n := w.origin.Counts().Archives; n != 1 {
		t.Errorf("%d downloads", n)
	}
	if n := w.origin.Requests("/versions"); n != 1 {
		t.Errorf("%d requests for versions", n)
	}
}

func TestHashesOfAllPlatforms(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	v := w.thing("1.0.0")
	check := func(when string, platform layout.Platform, hashes ...string) {
		t.Helper()
		r, err := w.Release(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Packages[platform].Hashes; !slices.Equal(got, hashes) {
			t.Errorf("%s: %s has %v, want %v", when, platform, got, hashes)
		}
	}
	on := map[layout.Platform][]byte{linux: program(t, "1.0.0"), darwin: program(t, "1.0.0-darwin")}
	check("before the copy", linux, "zh:"+hexSum(on[linux]))
	check("before the copy", darwin, "zh:"+hexSum(on[darwin]))
	if _, err := w.read(t.Context(), v, linux); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		check("after the copy", linux, contentHash(t, on[linux]), "zh:"+hexSum(on[linux]))
		check("after the copy", darwin, "zh:"+hexSum(on[darwin]))
		w.restart()
	}
	if n := w.origin.Requests("/download/"); n != 2 {
		t.Errorf("%d requests for a package, want one for the release and one for the archive", n)
	}
}

func TestHashesThatTheOriginReports(t *testing.T) {
	w := newWorld(t)
	on := map[layout.Platform][]byte{linux: program(t, "1.0.0"), darwin: program(t, "1.0.0-darwin")}
	report := map[string]registrytest.Reported{}
	for platform, data := range on {
		report[platform.String()] = registrytest.Reported{Hashes: []string{"zh:" + hexSum(data), contentHash(t, data)}, Size: int64(len(data))}
	}
	w.publish("1.0.0", func(r *registrytest.Release) { r.Report = report })
	r, err := w.Release(t.Context(), w.thing("1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	for platform, data := range on {
		want := offer.Package{File: w.thing("1.0.0").Archive(platform), SHA256: hexSum(data), Hashes: []string{"zh:" + hexSum(data), contentHash(t, data)}, Size: int64(len(data))}
		if got := r.Packages[platform]; !slices.Equal(got.Hashes, want.Hashes) || got.Size != want.Size || got.File != want.File || got.SHA256 != want.SHA256 {
			t.Errorf("%s: %+v", platform, got)
		}
	}
}

func TestFilesPassOnToTheTool(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	v := w.thing("1.0.0")
	for _, name := range []string{v.Sums(), v.Signature(), v.Archive(darwin)} {
		f, err := w.Open(t.Context(), v, name)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(f.Content); err != nil || len(data) == 0 || f.Content.Close() != nil {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		if _, ok := f.Content.(io.Seeker); !ok {
			t.Errorf("%s: parts of it cannot be read", name)
		}
	}
	want := []string{
		"mirror/providers/" + v.Host + "/acme/signing-keys.json",
		v.Key(v.Sums()), v.Key(v.Signature()), v.Key(v.Archive(darwin)),
	}
	slices.Sort(want)
	if got := w.objects("mirror/"); !slices.Equal(got, want) {
		t.Errorf("the bucket has %q", got)
	}
	for _, name := range []string{"terraform-provider-thing_1.0.1_linux_amd64.zip", v.Archive(layout.Platform{OS: "plan9", Arch: "arm"}), "x", "../x"} {
		if _, err := w.Open(t.Context(), v, name); !errors.Is(err, offer.ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatOnceWorkedWorksWhileTheOriginDoesNot(t *testing.T) {
	stall := make(chan struct{})
	t.Cleanup(func() { close(stall) })
	for name, fault := range map[string]func(*registrytest.Registry) faulttest.Fault{
		"it is down":      func(*registrytest.Registry) faulttest.Fault { return faulttest.Unreachable },
		"it hangs":        func(*registrytest.Registry) faulttest.Fault { return faulttest.Stall(stall) },
		"it answers 429":  func(*registrytest.Registry) faulttest.Fault { return registrytest.TooMany(60) },
		"it answers 503":  func(*registrytest.Registry) faulttest.Fault { return faulttest.Answer(503) },
		"it answers 404":  func(*registrytest.Registry) faulttest.Fault { return faulttest.Answer(404) },
		"it answers HTML": func(*registrytest.Registry) faulttest.Fault { return registrytest.HTML },
		"it resets":       func(r *registrytest.Registry) faulttest.Fault { return r.Cut(0.5, true) },
		"it never ends":   func(*registrytest.Registry) faulttest.Fault { return registrytest.Endless },
		"it answers {}": func(r *registrytest.Registry) faulttest.Fault {
			return r.Changed(func([]byte) []byte { return []byte("{}") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.publish("1.0.0")
			v := w.thing("1.0.0")
			if _, err := w.Versions(t.Context(), v.Provider); err != nil {
				t.Fatal(err)
			}
			if _, err := w.read(t.Context(), v, linux); err != nil {
				t.Fatal(err)
			}
			w.origin.Break("/", fault(w.origin))
			w.restart()
			w.pass(2 * DefaultTTL)
			began := time.Now()
			i, err := w.Index(t.Context(), v.Provider)
			if err != nil || len(i.Versions) != 1 || i.Stale == nil {
				t.Fatalf("%+v, %v", i, err)
			}
			if took := time.Since(began); took > stalePatience+2*time.Second {
				t.Errorf("tofu would have given up after %s", took)
			}
			began = time.Now()
			if _, err := w.Index(t.Context(), v.Provider); err != nil || time.Since(began) > time.Second {
				t.Errorf("the next one waited %s: %v", time.Since(began), err)
			}
			if _, err := w.Release(t.Context(), v); err != nil {
				t.Error(err)
			}
			if data, err := w.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
				t.Error(err)
			}
			var failed *OriginError
			var none *offer.NotFoundError
			if _, err := w.read(t.Context(), v, darwin); !errors.As(err, &failed) && !errors.As(err, &none) {
				t.Errorf("an archive that it does not have: %v", err)
			}
		})
	}
}

func TestWithoutAnythingStoredTheReasonIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		fault faulttest.Fault
		want  string
	}{
		"down": {faulttest.Unreachable, "the connection was closed without a response"},
		"429":  {registrytest.TooMany(60), "429 Too Many Requests"},
		"html": {registrytest.HTML, "the answer is HTML and not the expected JSON"},
		"huge": {registrytest.Endless, "the answer has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0")
			w.origin.Break("/", c.fault)
			_, err := w.Versions(t.Context(), w.provider("acme/thing"))
			if !errors.Is(err, offer.ErrUpstream) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			// It is asked again soon, but not by everybody at once.
			w.origin.Break("/", nil)
			if _, err := w.Versions(t.Context(), w.provider("acme/thing")); err == nil {
				t.Error("it was asked again at once")
			}
			w.pass(restWithout)
			if _, err := w.Versions(t.Context(), w.provider("acme/thing")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUnknownNames(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	_, err := w.Versions(t.Context(), w.provider("acme/nothing"))
	if !errors.Is(err, offer.ErrNone) {
		t.Errorf("a provider: %v", err)
	}
	_, err = w.Release(t.Context(), w.thing("3.0.0"))
	if !errors.Is(err, offer.ErrNone) || !strings.Contains(err.Error(), "there are 1.0.0") {
		t.Errorf("a version: %v", err)
	}
	_, err = w.read(t.Context(), w.thing("1.0.0"), layout.Platform{OS: "plan9", Arch: "arm"})
	if !errors.Is(err, offer.ErrNone) || !strings.Contains(err.Error(), "there are darwin_arm64, linux_amd64") {
		t.Errorf("a platform: %v", err)
	}
	if keys := w.objects("mirror/"); len(keys) != 3 {
		t.Errorf("stored %q", keys)
	}
}

func TestAClientThatGoesAwayEndsItsDownload(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	resume := w.origin.Halt()
	defer resume()
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := w.read(ctx, w.thing("1.0.0"), linux)
		ended <- err
	}()
	until(t, func() bool { return w.origin.Counts().Archives > 0 })
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	resume()
	if data, err := w.read(t.Context(), w.thing("1.0.0"), linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
		t.Errorf("the next client: %v", err)
	}
}

// until waits for a moment that comes soon.
func until(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within a minute")
		}
	}
}
