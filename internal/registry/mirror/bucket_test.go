// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// plant writes an object of the bucket, as another program does.
func (w *world) plant(key string, data []byte) {
	w.t.Helper()
	path := filepath.Join(w.dir, key)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// plantRelease writes a release with a record that calls it verified.
func (w *world) plantRelease(v layout.ProviderVersion, archive, signature []byte, keys []release.Key, signer string) {
	w.t.Helper()
	sums := []byte(registrytest.Sums(map[string][]byte{v.Archive(linux): archive}))
	record, err := json.Marshal(storedRecord{Keys: keys, Signer: signer, Verified: w.now(), Sums: sumOf(sums), Stored: []string{linux.String()},
		Packages: map[string]release.Package{linux.String(): {Hashes: []string{contentHash(w.t, archive), "zh:" + hexSum(archive)}, Size: int64(len(archive))}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.plant(v.Key(v.Sums()), sums)
	w.plant(v.Key(v.Signature()), signature)
	w.plant(v.Key(v.Archive(linux)), archive)
	w.plant(v.OwnKey(), record)
}

func TestARecordInTheBucketIsVerifiedAgain(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	v, evil := w.thing("1.0.0"), program(t, "evil!")
	if _, err := w.read(t.Context(), v, linux); err != nil {
		t.Fatal(err)
	}
	known, err := w.load(t.Context(), v)
	if err != nil || known == nil || len(known.Keys) == 0 || !known.stored[linux] {
		t.Fatalf("%+v, %v", known, err)
	}
	for name, plant := range map[string]func(){
		"with the old signature": func() { w.plantRelease(v, evil, known.SignatureFile, known.Keys, known.Signer) },
		"with none":              func() { w.plantRelease(v, evil, nil, known.Keys, known.Signer) },
		"without keys":           func() { w.plantRelease(v, evil, nil, nil, "") },
	} {
		t.Run(name, func(t *testing.T) {
			plant()
			w.restart()
			w.origin.Break("/", faulttest.Unreachable)
			if data, err := w.read(t.Context(), v, linux); err == nil {
				t.Errorf("it served %d bytes", len(data))
			}
			w.origin.Break("/", nil)
			if data, err := w.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
				t.Errorf("from the origin: %v", err)
			}
		})
	}
}

// An origin that answers has the last word: what it does not have, or cannot prove, is not taken from
// the bucket instead.
func TestAnAnswerOfTheOriginIsNotReplacedByTheBucket(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	other := registrytest.NewSigner(t, w.now().Add(-time.Hour), 0)
	keys := release.Keys{GPG: []release.Key{{ID: other.ID(), Armor: other.Armor}}}
	evil := program(t, "evil!")
	for _, version := range []string{"1.0.0", "9.0.0"} {
		v := w.thing(version)
		sums := []byte(registrytest.Sums(map[string][]byte{v.Archive(linux): evil}))
		w.plant(v.Key(v.Sums()), sums)
		w.plant(v.Key(v.Signature()), other.Sign(t, sums, w.now().Add(-time.Minute)))
		w.plant(v.Key(v.Archive(linux)), evil)
	}
	w.plant(keysKey(w.thing("1.0.0").Provider), keys.Bytes())
	if _, err := w.read(t.Context(), w.thing("9.0.0"), linux); !errors.Is(err, offer.ErrNone) {
		t.Errorf("a version that does not exist: %v", err)
	}
	w.origin.Break("/sums", w.origin.Changed(func(b []byte) []byte { return bytes.Replace(b, []byte("1"), []byte("2"), 1) }))
	var untrusted *UntrustedError
	if _, err := w.read(t.Context(), w.thing("1.0.0"), linux); !errors.As(err, &untrusted) {
		t.Errorf("an origin that lies: %v", err)
	}
	w.origin.Break("/sums", nil)
	if data, err := w.read(t.Context(), w.thing("1.0.0"), linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
		t.Errorf("afterwards: %v", err)
	}
}

// Nothing in the bucket proves a release that nobody signed.
func TestAnUnsignedReleaseInTheBucketIsComparedWithItsOrigin(t *testing.T) {
	w := newWorld(t)
	w.unsigned = w.origin.Host()
	w.publish("1.0.0", func(r *registrytest.Release) { r.NoKeys = true })
	v := w.thing("1.0.0")
	again := func() ([]byte, error) {
		w.restart()
		w.unsigned = w.origin.Host()
		return w.read(t.Context(), v, linux)
	}
	if data, err := w.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
		t.Fatal(err)
	}
	w.origin.Break("/", faulttest.Unreachable)
	if data, err := again(); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
		t.Errorf("while the origin is down: %v", err)
	}
	w.origin.Break("/", nil)
	w.plantRelease(v, program(t, "evil!"), nil, nil, "")
	var untrusted *UntrustedError
	if data, err := again(); !errors.As(err, &untrusted) || !strings.Contains(err.Error(), "yuba registry mirror remove "+v.String()) {
		t.Errorf("another one: %d bytes, %v", len(data), err)
	}
	w.plantRelease(w.thing("9.0.0"), program(t, "evil!"), nil, nil, "")
	if data, err := w.read(t.Context(), w.thing("9.0.0"), linux); !errors.Is(err, offer.ErrNone) {
		t.Errorf("one that does not exist: %d bytes, %v", len(data), err)
	}
}

func TestAnArchiveThatChangesInTheBucketIsNotServed(t *testing.T) {
	for name, between := range map[string]func(*world){
		"while the mirror runs": func(*world) {},
		"before it starts":      (*world).restart,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0")
			v, right := w.thing("1.0.0"), program(t, "1.0.0")
			if _, err := w.read(t.Context(), v, linux); err != nil {
				t.Fatal(err)
			}
			wrong := bytes.Clone(right)
			wrong[len(wrong)/2]++
			w.plant(v.Key(v.Archive(linux)), wrong)
			between(w)
			w.origin.Break("/", faulttest.Unreachable)
			for range 2 {
				if _, err := w.read(t.Context(), v, linux); err == nil {
					t.Error("it was served")
				}
			}
			w.origin.Break("/", nil)
			if data, err := w.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, right) {
				t.Errorf("from the origin: %v", err)
			}
		})
	}
	w := newWorld(t)
	w.publish("1.0.0")
	v := w.thing("1.0.0")
	if _, err := w.read(t.Context(), v, linux); err != nil {
		t.Fatal(err)
	}
	w.plant(v.Key(v.Archive(linux)), program(t, "evil!"))
	w.options.Offline = true
	w.restart()
	var untrusted *UntrustedError
	if _, err := w.read(t.Context(), v, linux); !errors.As(err, &untrusted) {
		t.Errorf("without an origin: %v", err)
	}
}

// A cloud's bucket sends an archive only once for each request.
func TestAnArchiveInACloudIsRequestedOnce(t *testing.T) {
	w := newWorld(t)
	plain, err := blob.OpenPlain(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plain.Close() }) //nolint:errcheck // a test
	w.bucket = &watched{store: plain}
	w.restart()
	w.publish("1.0.0")
	v := w.thing("1.0.0")
	for range 3 {
		if data, err := w.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
			t.Fatal(err)
		}
	}
	for _, restart := range []bool{false, true} {
		want := int64(1)
		if restart {
			w.restart()
			want = 4 // the record, the sums, their signature and the archive
		}
		before := w.bucket.requests.Load()
		if _, err := w.read(t.Context(), v, linux); err != nil {
			t.Fatal(err)
		}
		if n := w.bucket.requests.Load() - before; n != want {
			t.Errorf("restarted %v: %d requests", restart, n)
		}
	}
	wrong := program(t, "1.0.1")
	if err := plain.Put(t.Context(), v.Key(v.Archive(linux)), bytes.NewReader(wrong)); err != nil {
		t.Fatal(err)
	}
	if data, err := w.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
		t.Errorf("a changed one: %v", err)
	}
}

// second starts another server on the same bucket.
func (w *world) second() *world {
	w.t.Helper()
	other := &world{t: w.t, origin: w.origin, bucket: w.bucket, dir: w.dir, options: w.options, clock: w.clock}
	other.options.Spool = w.t.TempDir()
	other.restart()
	return other
}

// A release that is removed because it is wrong is wrong in the memory of the other servers, too.
func TestWhatOneServerRemovesTheOthersForget(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	other, v := w.second(), w.thing("1.0.0")
	for _, server := range []*world{w, other} {
		if _, err := server.Versions(t.Context(), v.Provider); err != nil {
			t.Fatal(err)
		}
		if _, err := server.read(t.Context(), v, linux); err != nil {
			t.Fatal(err)
		}
		if err := server.hearRemoved(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := other.releases.get(v)
	w.publish("1.0.0", func(r *registrytest.Release) {
		r.Archives = map[string][]byte{linux.String(): program(t, "1.0.0-corrected")}
	})
	if _, err := w.Remove(t.Context(), v.Provider, ""); err != nil {
		t.Fatal(err)
	}
	// An archive is not served any more at once, all else after the interval.
	if data, err := other.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0-corrected")) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	other.releases.put(v, before)
	if err := other.hearRemoved(t.Context()); err != nil || removedInterval >= time.Minute {
		t.Fatal(err)
	}
	requests := w.origin.Requests("/versions")
	for _, server := range []*world{other, w} {
		r, err := server.Release(t.Context(), v)
		if err != nil || r.Packages[linux].SHA256 != hexSum(program(t, "1.0.0-corrected")) {
			t.Errorf("%+v, %v", r, err)
		}
		if data, err := server.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0-corrected")) {
			t.Errorf("%d bytes, %v", len(data), err)
		}
		if _, err := server.Versions(t.Context(), v.Provider); err != nil {
			t.Error(err)
		}
	}
	if w.origin.Requests("/versions") == requests {
		t.Error("nobody asked for the versions again")
	}
	// Notes do not stay.
	w.pass(2 * removedLife)
	if err := w.hearRemoved(t.Context()); err != nil || len(w.objects(removedPrefix)) > 0 {
		t.Errorf("%q, %v", w.objects(removedPrefix), err)
	}
}
