// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed_test

import (
	"archive/tar"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/sealed"
)

const homeID = "home"

// party can decrypt archives.
type party struct {
	to       sealed.Recipients
	identity *age.X25519Identity
}

func newParty(t testing.TB) party {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	to, err := sealed.ParseRecipients([]string{identity.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	return party{to, identity}
}

var signingKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// vpc is the stack that the signed headers name.
var vpc = []sealed.Stack{{Namespace: "team", Name: "vpc", Dir: "stacks/team/vpc"}}

func sign(header []byte) (sealed.Signature, error) {
	return sealed.Sign(signingKey, header, "team/vpc", homeID)
}

// members are small, empty and spooled ones.
var members = map[string]string{
	"stacks/team/vpc/terraform.tfstate":                               `{"version":4,"serial":3,"lineage":"l"}`,
	"stacks/team/vpc/content/lock.hcl":                                "",
	"stacks/team/vpc/content/runs/20260102-150405.000-1a2b3c4d5e/log": strings.Repeat("a line of a log\n", 200_000),
}

func names() []string {
	all := make([]string, 0, len(members))
	for name := range members {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func seal(t testing.TB, p party) *sealed.Sealed {
	t.Helper()
	w, err := sealed.NewWriter(t.Context(), p.to, t.TempDir(), time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names() {
		if err := w.Add(name, strings.NewReader(members[name])); err != nil {
			t.Fatal(err)
		}
	}
	w.Index.Stacks = vpc
	s, err := w.Close(sealed.Header{Home: "https://home", HomeID: homeID, Stacks: []string{"team/vpc"}}, sign)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Discard() }) //nolint:errcheck // the files have no names
	return s
}

func bytesOf(t testing.TB, s *sealed.Sealed) []byte {
	t.Helper()
	data, err := io.ReadAll(s.Reader())
	if err != nil || int64(len(data)) != s.Size {
		t.Fatalf("read %d bytes of %d: %v", len(data), s.Size, err)
	}
	return data
}

// readAll opens and verifies an archive, and returns its members.
func readAll(t testing.TB, data []byte, identities ...age.Identity) (map[string]string, error) {
	t.Helper()
	a, err := sealed.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if err := a.Verify(t.Context()); err != nil {
		return nil, err
	}
	index, err := a.ReadIndex(identities...)
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	return got, a.Each(t.Context(), index, identities, func(name string, content io.Reader) error {
		text, err := io.ReadAll(content)
		got[name] = string(text)
		return err
	})
}

func TestArchivesAreReadAsWritten(t *testing.T) {
	p := newParty(t)
	got, err := readAll(t, bytesOf(t, seal(t, p)), p.identity)
	if err != nil {
		t.Fatal(err)
	}
	sums := got[sealed.SumsName]
	delete(got, sealed.SumsName)
	if diff := cmp.Diff(members, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	for name, content := range members {
		sum := sha256.Sum256([]byte(content))
		if !strings.Contains(sums, hex.EncodeToString(sum[:])+"  "+name+"\n") {
			t.Errorf("%s does not list %s", sealed.SumsName, name)
		}
	}
}

func TestOnlyRecipientsRead(t *testing.T) {
	data := bytesOf(t, seal(t, newParty(t)))
	if bytes.Contains(data, []byte("lineage")) || bytes.Contains(data, []byte("20260102")) {
		t.Error("the archive has clear text of its content")
	}
	for sentence, identities := range map[string][]age.Identity{"another identity": {newParty(t).identity}, "no identity": nil} {
		if _, err := readAll(t, data, identities...); !errors.Is(err, sealed.ErrNoIdentity) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	if _, err := sealed.ParseRecipients([]string{newParty(t).identity.String()}); err == nil || strings.Contains(err.Error(), "AGE-SECRET-KEY-1") {
		t.Errorf("an identity as a recipient: %v", err)
	}
}

// outer are the members of the file itself.
type outer struct {
	name string
	data []byte
}

func unpack(t testing.TB, data []byte) []outer {
	t.Helper()
	var all []outer
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, outer{head.Name, content})
	}
}

func repack(t testing.TB, all []outer) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range all {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: m.name, Size: int64(len(m.data)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// flip changes a bit in the middle of an outer member.
func flip(t testing.TB, data []byte, i int) []byte {
	t.Helper()
	all := unpack(t, data)
	all[i].data = bytes.Clone(all[i].data)
	all[i].data[len(all[i].data)/2] ^= 1
	return repack(t, all)
}

// Whatever is changed is noticed, without an identity.
func TestDamageIsNoticedWithoutDecrypting(t *testing.T) {
	p := newParty(t)
	data := bytesOf(t, seal(t, p))
	other := bytesOf(t, seal(t, p))
	all, others := unpack(t, data), unpack(t, other)
	exchanged := slices.Clone(all)
	exchanged[4], exchanged[5] = exchanged[5], exchanged[4]
	mixed := slices.Clone(all)
	mixed[5] = others[5]
	for sentence, bad := range map[string][]byte{
		"nothing":                          nil,
		"something else":                   []byte(strings.Repeat("hello", 1000)),
		"half of it":                       data[:len(data)/2],
		"without its last bytes":           data[:len(data)-512],
		"with something behind its end":    append(bytes.Clone(data), make([]byte, 512)...),
		"a changed README":                 flip(t, data, 0),
		"a changed header":                 flip(t, data, 1),
		"a changed signature":              flip(t, data, 2),
		"a changed public key":             flip(t, data, 3),
		"a changed index":                  flip(t, data, 4),
		"changed content":                  flip(t, data, 5),
		"members in another order":         repack(t, exchanged),
		"the content of another archive":   repack(t, mixed),
		"a missing member":                 repack(t, all[:5]),
		"a member twice":                   repack(t, append(slices.Clone(all), all[5])),
		"a member beside the others":       repack(t, append(slices.Clone(all), outer{"../evil", []byte("x")})),
		"a member in front of the others":  repack(t, append([]outer{{"evil", nil}}, all...)),
		"no signature but a public key":    repack(t, append(append(slices.Clone(all[:2]), outer{"archive.json.sig", nil}), all[3:]...)),
		"a header of gigabytes, announced": hugeHeader(t, all),
	} {
		t.Run(sentence, func(t *testing.T) {
			a, err := sealed.Open(bytes.NewReader(bad), int64(len(bad)))
			if err == nil {
				err = a.Verify(t.Context())
			}
			var known *sealed.BadError
			if !errors.As(err, &known) {
				t.Errorf("error %v, want one that says what is wrong", err)
			}
		})
	}
}

// hugeHeader announces more than the file has.
func hugeHeader(t testing.TB, all []outer) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(repack(t, all[:1])[:1024])
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "archive.json", Size: 1 << 40, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A hostile author has a key of their own, and signs whatever they like.
func TestSignedArchivesAreNotTrusted(t *testing.T) {
	p := newParty(t)
	seal := func(content []byte, index sealed.Index) []byte {
		encrypt := func(data []byte) []byte {
			var b bytes.Buffer
			w, err := age.Encrypt(&b, p.to.Keys...)
			if err != nil {
				t.Fatal(err)
			}
			w.Write(data) //nolint:errcheck // into memory
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
		text, err := json.Marshal(index)
		if err != nil {
			t.Fatal(err)
		}
		all := []outer{{"README.txt", nil}, {"index.json.age", encrypt(text)}, {"content.tar.age", encrypt(content)}}
		header := sealed.Header{Kind: sealed.Kind, Format: sealed.Format, HomeID: homeID, Stacks: []string{"team/vpc"}}
		for _, m := range all {
			sum := sha256.Sum256(m.data)
			header.Members = append(header.Members, sealed.Member{Name: m.name, Size: int64(len(m.data)), SHA256: hex.EncodeToString(sum[:])})
		}
		head, err := json.Marshal(header)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := sign(head)
		if err != nil {
			t.Fatal(err)
		}
		return repack(t, []outer{all[0], {"archive.json", head}, {"archive.json.sig", signature.Signature}, {"signer.pem", []byte(signature.PublicKey)}, all[1], all[2]})
	}
	sum := sha256.Sum256([]byte("x"))
	listed := func(name string, size int64) sealed.Index {
		return sealed.Index{Format: sealed.Format, Stacks: vpc, Members: []sealed.Member{{Name: name, Size: size, SHA256: hex.EncodeToString(sum[:])}}}
	}
	for sentence, c := range map[string]struct {
		content []byte
		index   sealed.Index
		want    string
	}{
		"a member that leaves the directory": {repack(t, []outer{{"../x", []byte("x")}}), listed("../x", 1), "leaves"},
		"an absolute member":                 {repack(t, []outer{{"/x", []byte("x")}}), listed("/x", 1), "not allowed"},
		"a member with control characters":   {repack(t, []outer{{"a\x1bb", []byte("x")}}), listed("a\x1bb", 1), "not allowed"},
		"a member of another size":           {repack(t, []outer{{"a", []byte("xx")}}), listed("a", 1), "in the place of a"},
		"a member with another content":      {repack(t, []outer{{"a", []byte("y")}}), listed("a", 1), "checksum"},
		"a member that is not listed":        {repack(t, []outer{{"a", []byte("x")}, {"b", nil}}), listed("a", 1), "does not list"},
		"a missing member":                   {repack(t, nil), listed("a", 1), "damaged at a"},
		"another format":                     {repack(t, nil), sealed.Index{Format: 2}, "cannot be read"},
		"no tar archive":                     {[]byte(strings.Repeat("x", 1024)), listed("a", 1), "damaged at a"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := readAll(t, seal(c.content, c.index), p.identity)
			var bad *sealed.BadError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestHomesSignOnlyTheirOwnArchives(t *testing.T) {
	good := `{"kind":"yuba-archive","format":1,"homeID":"home","stacks":["team/vpc"]}`
	for sentence, header := range map[string]string{
		"another document":   `{"kind":"Secret"}`,
		"no JSON":            "hello",
		"another stack":      strings.Replace(good, "vpc", "dns", 1),
		"another home":       strings.Replace(good, `"home"`, `"other"`, 1),
		"a format to come":   strings.Replace(good, `"format":1`, `"format":2`, 1),
		"an enormous header": good + strings.Repeat(" ", 5<<20),
	} {
		if _, err := sign([]byte(header)); err == nil {
			t.Errorf("%s was signed", sentence)
		}
	}
	if _, err := sign([]byte(good)); err != nil {
		t.Error(err)
	}
}

func TestFilesAreWrittenOnce(t *testing.T) {
	p := newParty(t)
	s, dir := seal(t, p), t.TempDir()
	place := filepath.Join(dir, "a.archive")
	if err := s.Store(t.Context(), place, time.Time{}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	if err := seal(t, p).Store(t.Context(), place, time.Time{}); !errors.Is(err, sealed.ErrExists) {
		t.Errorf("written twice: %v", err)
	}
	after, err := os.ReadFile(place)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the first archive was changed (%v)", err)
	}
	info, err := os.Stat(place)
	if err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the directory has %v (%v)", left, err)
	}
	a, file, err := sealed.OpenPlace(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	if err := a.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// pattern is an endless content that does not compress in memory.
type pattern struct{ n int64 }

func (p *pattern) Read(b []byte) (int, error) {
	for i := range b {
		p.n++
		b[i] = byte(p.n>>8 ^ p.n)
	}
	return len(b), nil
}

// A state of 100 MB is a stream for writers and readers.
func TestMemoryIsBounded(t *testing.T) {
	const size, most = 100 << 20, 24 << 20
	p := newParty(t)
	peak := peakOf(t, func() {
		w, err := sealed.NewWriter(t.Context(), p.to, t.TempDir(), time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add("state", io.LimitReader(&pattern{}, size)); err != nil {
			t.Fatal(err)
		}
		w.Index.Stacks = vpc
		s, err := w.Close(sealed.Header{HomeID: homeID, Stacks: []string{"team/vpc"}}, sign)
		if err != nil {
			t.Fatal(err)
		}
		place := filepath.Join(t.TempDir(), "a")
		if err := s.Store(t.Context(), place, time.Time{}); err != nil {
			t.Fatal(err)
		}
		a, file, err := sealed.OpenPlace(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close() //nolint:errcheck // only read
		index, err := a.ReadIndex(p.identity)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Each(t.Context(), index, []age.Identity{p.identity}, func(string, io.Reader) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("an archive of %d MiB needs %d KiB", size>>20, peak>>10)
	if peak > most {
		t.Errorf("it needs %d MiB", peak>>20)
	}
}

// peakOf is how much the heap grows.
func peakOf(t *testing.T, do func()) uint64 {
	t.Helper()
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-done:
				peak <- most
				return
			case <-tick.C:
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
		}
	}()
	do()
	close(done)
	most := <-peak
	return most - min(most, before.HeapAlloc)
}
