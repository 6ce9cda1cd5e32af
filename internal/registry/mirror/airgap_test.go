// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/registrytest"
)

// export makes an archive of what a lock file names.
func (w *world) export(lock string, platforms ...layout.Platform) ([]byte, []Carried, error) {
	w.t.Helper()
	wants, err := Wanted(nil, []byte(lock))
	if err != nil {
		w.t.Fatal(err)
	}
	var out bytes.Buffer
	var list []Carried
	dir := w.t.TempDir()
	err = Export(w.t.Context(), wants, platforms, w.options, dir, &out, func(c Carried) { list = append(list, c) })
	if entries, readErr := os.ReadDir(dir); readErr != nil || len(entries) > 0 {
		w.t.Errorf("remains: %v, %v", entries, readErr)
	}
	return out.Bytes(), list, err
}

func (w *world) lock(version, hashes string) string {
	return "provider \"" + w.origin.Source("acme/thing") + "\" {\n  version = \"" + version + "\"\n  hashes = [\n" + hashes + "  ]\n}\n"
}

func TestAcrossAnAirGap(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	w.publish("2.0.0")
	archive, list, err := w.export(w.lock("1.0.0", "    \"zh:"+hexSum(program(t, "1.0.0"))+"\",\n    \"zh:"+hexSum(program(t, "1.0.0-darwin"))+"\",\n"), linux, darwin)
	if err != nil || len(list) != 2 || list[0].Signer == "" {
		t.Fatalf("%+v, %v", list, err)
	}
	again, _, err := w.export(w.lock("1.0.0", ""), linux, darwin)
	if err != nil || !bytes.Equal(archive, again) {
		t.Errorf("another archive of the same, %v", err)
	}
	w.origin.Break("/", faulttest.Unreachable)
	inside := newWorld(t, func(o *Options) { o.Offline = true; o.Allow = nil })
	v := w.thing("1.0.0")
	if _, err := inside.Versions(t.Context(), v.Provider); !errors.Is(err, offer.ErrNone) || !strings.Contains(err.Error(), "works offline") {
		t.Errorf("before: %v", err)
	}
	got, err := inside.Import(t.Context(), bytes.NewReader(archive), ImportOptions{})
	if err != nil || len(got) != 2 || !got[0].NewKey {
		t.Fatalf("%+v, %v", got, err)
	}
	for range 2 {
		i, err := inside.Index(t.Context(), v.Provider)
		if err != nil || len(i.Versions) != 1 || i.Versions[0].Version != "1.0.0" || len(i.Versions[0].Platforms) != 2 {
			t.Fatalf("%+v, %v", i, err)
		}
		if data, err := inside.read(t.Context(), v, linux); err != nil || !bytes.Equal(data, program(t, "1.0.0")) {
			t.Errorf("%v", err)
		}
		r, err := inside.Release(t.Context(), v)
		if err != nil || r.Packages[darwin].Hashes[0] != contentHash(t, program(t, "1.0.0-darwin")) {
			t.Errorf("%+v, %v", r, err)
		}
		inside.restart()
	}
	if got, err := inside.Import(t.Context(), bytes.NewReader(archive), ImportOptions{}); err != nil || got[0].NewKey {
		t.Errorf("again: %+v, %v", got, err)
	}
	entries, err := inside.List(t.Context())
	if err != nil || len(entries) != 1 || len(entries[0].Platforms) != 2 || entries[0].Size == 0 || entries[0].Used.IsZero() {
		t.Errorf("%+v, %v", entries, err)
	}
	if _, err := inside.Remove(t.Context(), v.Provider, "3.0.0"); !errors.Is(err, offer.ErrNone) || !strings.Contains(err.Error(), "there are 1.0.0") {
		t.Errorf("%v", err)
	}
	if removed, err := inside.Remove(t.Context(), v.Provider, ""); err != nil || len(removed) != 1 {
		t.Errorf("%+v, %v", removed, err)
	}
	if _, err := inside.read(t.Context(), v, linux); err == nil {
		t.Error("it was not removed")
	}
}

func TestExportComparesWithTheLockFile(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	_, _, err := w.export(w.lock("1.0.0", "    \"zh:"+strings.Repeat("0", 64)+"\",\n"), linux)
	var untrusted *UntrustedError
	if !errors.As(err, &untrusted) || !strings.Contains(err.Error(), "the lock file does not have one of its hashes") {
		t.Errorf("%v", err)
	}
	if _, _, err := w.export(w.lock("9.0.0", ""), linux); !errors.Is(err, offer.ErrNone) {
		t.Errorf("%v", err)
	}
}

func TestImportsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	v := w.thing("1.0.0")
	archive, _, err := w.export(w.lock("1.0.0", ""), linux)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(name string, data []byte) (string, []byte)
		want   string
	}{
		"another archive": {replace(v.Key(v.Archive(linux)), program(t, "evil")), "but the signed list has"},
		"other checksums": {replace(v.Key(v.Sums()), []byte(hexSum(program(t, "evil"))+"  "+v.Archive(linux)+"\n")), "signature of the list of checksums is wrong"},
		"no signature":    {replace(v.Key(v.Signature()), nil), "is not signed"},
		"other keys":      {replace(keysKey(v.Provider), []byte(`{"gpg_public_keys":[]}`)), "there are none"},
		"a path outside":  {func(_ string, data []byte) (string, []byte) { return "../../etc/passwd", data }, "is not a file of a mirrored provider"},
		"own providers":   {func(_ string, data []byte) (string, []byte) { return "providers/acme/thing/" + v.Sums(), data }, "is not a file of a mirrored provider"},
		"no checksums": {func(name string, data []byte) (string, []byte) {
			if name == v.Key(v.Sums()) {
				return "yuba/x", data
			}
			return name, data
		}, "lacks the checksums"},
	} {
		t.Run(name, func(t *testing.T) {
			inside := newWorld(t, func(o *Options) { o.Offline, o.Allow = true, nil })
			_, err := inside.Import(t.Context(), rewritten(t, archive, c.change), ImportOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if got := inside.objects(""); len(got) > 0 {
				t.Errorf("stored %q", got)
			}
		})
	}
	inside := newWorld(t, func(o *Options) { o.Offline, o.Allow = true, []string{"registry.example.com/*/*"} })
	if _, err := inside.Import(t.Context(), bytes.NewReader(archive), ImportOptions{}); !errors.Is(err, offer.ErrRefused) {
		t.Errorf("not allowed: %v", err)
	}
	for _, length := range []int{0, 700, len(archive) / 2} {
		if _, err := inside.Import(t.Context(), bytes.NewReader(archive[:length]), ImportOptions{}); err == nil {
			t.Errorf("%d bytes were enough", length)
		}
	}
}

func TestAnUnsignedReleaseIsNotImportedUnasked(t *testing.T) {
	v := layout.ProviderVersion{Provider: layout.Provider{Host: hostUnsigned, Namespace: "acme", Name: "thing"}, Version: "1.0.0"}
	data := program(t, "1.0.0")
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range map[string][]byte{v.Archive(linux): data, v.Sums(): []byte(registrytest.Sums(map[string][]byte{v.Archive(linux): data}))} {
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: v.Key(name), Size: int64(len(content)), Typeflag: tar.TypeReg}), second(w.Write(content))); err != nil {
			t.Fatal(err)
		}
	}
	inside := newWorld(t, func(o *Options) { o.Offline, o.Allow = true, nil })
	if _, err := inside.Import(t.Context(), bytes.NewReader(out.Bytes()), ImportOptions{}); err == nil || !strings.Contains(err.Error(), "--allow-unsigned") {
		t.Errorf("%v", err)
	}
	if list, err := inside.Import(t.Context(), bytes.NewReader(out.Bytes()), ImportOptions{AllowUnsigned: true}); err != nil || list[0].Signer != "" {
		t.Errorf("%+v, %v", list, err)
	}
}

func second(_ int, err error) error { return err }

func replace(key string, by []byte) func(string, []byte) (string, []byte) {
	return func(name string, data []byte) (string, []byte) {
		if name == key {
			return name, by
		}
		return name, data
	}
}

func rewritten(t *testing.T, archive []byte, change func(string, []byte) (string, []byte)) io.Reader {
	t.Helper()
	var out bytes.Buffer
	to, from := tar.NewWriter(&out), tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := from.Next()
		if err == io.EOF {
			break
		}
		data, readErr := io.ReadAll(from)
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		header.Name, data = change(header.Name, data)
		header.Size = int64(len(data))
		if err := errors.Join(to.WriteHeader(header), second(to.Write(data))); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

// Somebody who changes an archive on its way can sign it again with a key of his own.
func TestAnImportWithAnotherKeyIsRefused(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0")
	w.publish("2.0.0", func(r *registrytest.Release) { r.Signer = registrytest.NewSigner(t, w.clock.Add(-time.Hour), 0) })
	inside := newWorld(t, func(o *Options) { o.Offline, o.Allow = true, nil })
	carry := func(version string, o ImportOptions) error {
		t.Helper()
		archive, _, err := w.export(w.lock(version, ""), linux)
		if err != nil {
			t.Fatal(err)
		}
		_, err = inside.Import(t.Context(), bytes.NewReader(archive), o)
		return err
	}
	if err := carry("1.0.0", ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	before := inside.objects("")
	if err := carry("2.0.0", ImportOptions{}); err == nil || !strings.Contains(err.Error(), "--allow-new-keys") {
		t.Errorf("another key: %v", err)
	}
	if got := inside.objects(""); !slices.Equal(got, before) {
		t.Errorf("stored %q", got)
	}
	if err := carry("2.0.0", ImportOptions{AllowNewKeys: true}); err != nil {
		t.Errorf("an accepted key: %v", err)
	}
}
