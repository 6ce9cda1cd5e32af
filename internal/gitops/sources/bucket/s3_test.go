// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/yuba-dev/yuba/internal/archive"
)

const bucketName = "sources"

// fault answers a request in the store's place; it returns false to let the store answer.
type fault func(w http.ResponseWriter, r *http.Request) bool

// s3Server is a real S3 server that lets in who signs with the right key.
type s3Server struct {
	*httptest.Server
	objects *s3mem.Backend

	mu    sync.Mutex
	fault fault
	gets  []string // what was downloaded
	lists int
}

func newS3(t *testing.T, start func(*httptest.Server)) *s3Server {
	t.Helper()
	s := &s3Server{objects: s3mem.New()}
	inner := gofakes3.New(s.objects, gofakes3.WithTimeSkewLimit(0)).Server()
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		broken := s.fault
		if strings.HasPrefix(r.URL.Path, "/"+bucketName+"/") && len(r.URL.Path) > len(bucketName)+2 {
			s.gets = append(s.gets, strings.TrimPrefix(r.URL.Path, "/"+bucketName+"/"))
		} else {
			s.lists++
		}
		s.mu.Unlock()
		switch {
		case broken != nil && broken(w, r):
		case !signedBy(r, "key", "secret"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<Error><Code>SignatureDoesNotMatch</Code><Message>hunter2</Message></Error>`)
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	start(s.Server)
	t.Cleanup(s.Close)
	if err := s.objects.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	return s
}

// signedBy signs the request again and compares.
func signedBy(r *http.Request, key, secret string) bool {
	said := r.Header.Get("Authorization")
	_, rest, _ := strings.Cut(said, "SignedHeaders=")
	names, _, _ := strings.Cut(rest, ",")
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.URL.RequestURI(), nil)
	if err != nil || names == "" {
		return false
	}
	for name := range strings.SplitSeq(names, ";") {
		if name != "host" {
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return false
	}
	_, scope, _ := strings.Cut(said, "Credential=")
	parts := strings.Split(scope, "/")
	err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(context.Background(), aws.Credentials{AccessKeyID: key, SecretAccessKey: secret},
		again, r.Header.Get("X-Amz-Content-Sha256"), "s3", parts[2], at)
	return err == nil && again.Header.Get("Authorization") == said
}

func (s *s3Server) put(t *testing.T, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if _, err := s.objects.PutObject(bucketName, pairs[i], nil, strings.NewReader(pairs[i+1]), int64(len(pairs[i+1])), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *s3Server) breakWith(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// downloaded tells and forgets what was.
func (s *s3Server) downloaded() (gets []string, lists int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gets, lists, s.gets, s.lists = s.gets, s.lists, nil, 0
	return gets, lists
}

func (s *s3Server) bucket(change func(*Bucket)) *Bucket {
	b := &Bucket{Endpoint: s.Listener.Addr().String(), Name: bucketName, Insecure: true, Timeout: time.Minute, MaxAge: time.Hour,
		Credentials: map[string][]byte{"accesskey": []byte("key"), "secretkey": []byte("secret")}}
	if change != nil {
		change(b)
	}
	return b
}

func plainS3(t *testing.T) *s3Server {
	t.Helper()
	return newS3(t, (*httptest.Server).Start)
}

func look(t *testing.T, b *Bucket) *Tree {
	t.Helper()
	tree, err := New().Look(t.Context(), b, false)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// fetched downloads a tree and reads it.
func fetched(t *testing.T, tree *Tree) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := tree.Fetch(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var content []byte
			content, err = os.ReadFile(filepath.Join(dir, name))
			files[name] = string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wantFailure(t *testing.T, err error, reason string, stalled bool, message string) {
	t.Helper()
	var failed *archive.FetchError
	if !errors.As(err, &failed) || failed.Reason != reason || failed.Stalled != stalled || !strings.Contains(failed.Message, message) {
		t.Errorf("got %#v, want %s (stalled: %v) with %q", err, reason, stalled, message)
	}
	if err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error tells what it must not: %v", err)
	}
}

func TestWhatABucketHolds(t *testing.T) {
	server := plainS3(t)
	server.put(t, ".sourceignore", "*.md\n!keep.md\n", "a.tf", "a", "a.md", "x", "keep.md", "k", "sub/b.tf", "b", "sub/", "", "pic.png", "p",
		"sub/terraform.tfstate", "secret", "with space & ünïcode+.tf", "u", "Case", "1", "case", "2")
	everything := map[string]string{"a.tf": "a", "keep.md": "k", "sub/b.tf": "b", "pic.png": "p", "with space & ünïcode+.tf": "u", "Case": "1", "case": "2"}
	tree := look(t, server.bucket(nil))
	if diff := cmp.Diff(everything, fetched(t, tree)); diff != "" {
		t.Error(diff)
	}
	gets, _ := server.downloaded()
	for _, name := range gets {
		if strings.HasSuffix(name, ".tfstate") {
			t.Errorf("a state was downloaded: %s", name)
		}
	}
	for sentence, c := range map[string]struct {
		change func(*Bucket)
		want   map[string]string
	}{
		"a prefix, which stays a part of the names":     {func(b *Bucket) { b.Prefix = "sub/" }, map[string]string{"sub/b.tf": "b"}},
		"patterns that win over those of .sourceignore": {func(b *Bucket) { b.Ignore = "/*\n!/a.*\n" }, map[string]string{"a.tf": "a", "a.md": "x"}},
		"nothing": {func(b *Bucket) { b.Prefix = "none/" }, map[string]string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, fetched(t, look(t, server.bucket(c.change)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheRevisionIsFluxs(t *testing.T) {
	server := plainS3(t)
	server.put(t, "b", "2", "a", "1")
	// The MD5 digests of "1" and "2", which S3 has for ETags.
	lines := "a c4ca4238a0b923820dcc509a6f75849b\nb c81e728d9d4c2f636f067f89cc14862c\n"
	if got, want := look(t, server.bucket(nil)).Revision, fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(lines))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLooksDownloadNothing(t *testing.T) {
	server := plainS3(t)
	server.put(t, "a", "1", "b", "2")
	client := New()
	look := func(fresh bool) *Tree {
		t.Helper()
		tree, err := client.Look(t.Context(), server.bucket(nil), fresh)
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	first := look(false)
	if gets, lists := server.downloaded(); lists != 1 || cmp.Diff([]string{".sourceignore"}, gets) != "" {
		t.Errorf("a look lists %d times and downloads %v", lists, gets)
	}
	if again := look(false); again.Revision != first.Revision || again.ContentKey != first.ContentKey {
		t.Errorf("%+v", again)
	}
	if gets, lists := server.downloaded(); len(gets)+lists != 0 {
		t.Error("what was remembered was asked for again")
	}
	server.put(t, "b", "3")
	changed := look(true)
	if changed.Revision == first.Revision || changed.ContentKey == first.ContentKey {
		t.Error("a change was not seen")
	}
	other, err := client.Look(t.Context(), server.bucket(func(b *Bucket) { b.Access.SkipVerify = true }), false)
	if err != nil || other.Revision != changed.Revision || other.ContentKey == changed.ContentKey {
		t.Errorf("who asks in another way would be given the same tree: %+v %v", other, err)
	}
}

func TestAccessToS3(t *testing.T) {
	server := plainS3(t)
	server.put(t, "a", "1")
	for sentence, c := range map[string]struct {
		change  func(*Bucket)
		reason  string
		stalled bool
		message string
	}{
		"nobody": {func(b *Bucket) { b.Credentials = nil }, reasonOperation, false, "403 Forbidden: the credentials of spec.secretRef are not accepted"},
		"a wrong key": {func(b *Bucket) { b.Credentials["secretkey"] = []byte("hunter2") }, reasonOperation, false,
			"list the bucket 'sources' at " + server.Listener.Addr().String() + ": the store answers 403"},
		"half a Secret":           {func(b *Bucket) { delete(b.Credentials, "accesskey") }, reasonAuthentication, false, "accesskey and secretkey"},
		"a bucket that is not":    {func(b *Bucket) { b.Name = "missing" }, reasonOperation, false, "404 Not Found: the bucket does not exist"},
		"a URL for an endpoint":   {func(b *Bucket) { b.Endpoint = "https://user:hunter2@example.com" }, reasonURLInvalid, true, "spec.endpoint must be a host"},
		"TLS where there is none": {func(b *Bucket) { b.Insecure = false }, reasonOperation, false, "it serves http, not https"},
		"nobody who listens":      {func(b *Bucket) { b.Endpoint = "127.0.0.1:1" }, reasonOperation, false, "the connection was refused"},
		"the metadata service":    {func(b *Bucket) { b.Endpoint = "169.254.169.254" }, reasonOperation, false, "metadata service"},
		"an unknown provider":     {func(b *Bucket) { b.Provider = "x" }, reasonOperation, true, "use generic, aws, gcp or azure"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := New().Look(t.Context(), server.bucket(c.change), false)
			wantFailure(t, err, c.reason, c.stalled, c.message)
		})
	}
}

func TestRegions(t *testing.T) {
	for _, c := range []struct{ endpoint, region, want string }{
		{"minio.example.com:9000", "", "us-east-1"}, {"minio.example.com", "there", "there"}, {"s3.amazonaws.com", "", "us-east-1"},
		{"s3.eu-central-1.amazonaws.com", "", "eu-central-1"}, {"s3-us-west-2.amazonaws.com", "", "us-west-2"},
		{"s3.dualstack.ap-southeast-2.amazonaws.com", "", "ap-southeast-2"}, {"s3.cn-north-1.amazonaws.com.cn", "", "cn-north-1"},
		{"s3.us-gov-west-1.amazonaws.com", "", "us-gov-west-1"}, {"s3.eu-central-1.amazonaws.com", "eu-west-1", "eu-west-1"},
	} {
		if got := (&Bucket{Endpoint: c.endpoint, Region: c.region}).region(); got != c.want {
			t.Errorf("%s with region %q: %s, want %s", c.endpoint, c.region, got, c.want)
		}
	}
}

func TestS3WithTLS(t *testing.T) {
	server := newS3(t, (*httptest.Server).StartTLS)
	server.put(t, "a", "1")
	trusting := server.bucket(func(b *Bucket) {
		b.Insecure = false
		b.Access.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	})
	if files := fetched(t, look(t, trusting)); files["a"] != "1" {
		t.Error(files)
	}
	_, err := New().Look(t.Context(), server.bucket(func(b *Bucket) { b.Insecure = false }), false)
	wantFailure(t, err, reasonOperation, false, "signed by an untrusted authority")
}

func TestManyObjects(t *testing.T) {
	server := plainS3(t)
	want := map[string]string{}
	for i := range 2300 {
		name := fmt.Sprintf("dir-%d/file-%d", i%7, i)
		want[name] = fmt.Sprint(i)
		server.put(t, name, fmt.Sprint(i))
	}
	tree := look(t, server.bucket(nil))
	if tree.Files != len(want) {
		t.Errorf("%d files", tree.Files)
	}
	if diff := cmp.Diff(want, fetched(t, tree)); diff != "" {
		t.Error(diff)
	}
}

func TestAnObjectThatChangesMeanwhile(t *testing.T) {
	server := plainS3(t)
	for sentence, change := range map[string]func(){
		"changed": func() { server.put(t, "b", "another content") },
		"removed": func() {
			if _, err := server.objects.DeleteObject(bucketName, "b"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			server.put(t, "a", "1", "b", "2")
			client := New()
			before, err := client.Look(t.Context(), server.bucket(nil), false)
			if err != nil {
				t.Fatal(err)
			}
			change()
			wantFailure(t, before.Fetch(t.Context(), t.TempDir()), reasonOperation, false, `fetch the object "b" of the bucket 'sources'`)
			after, err := client.Look(t.Context(), server.bucket(nil), false)
			if err != nil || after.Revision == before.Revision {
				t.Errorf("what is no longer there was remembered: %v", err)
			}
			fetched(t, after)
		})
	}
}

func TestAStoreThatHangs(t *testing.T) {
	server := plainS3(t)
	server.put(t, "a", "1")
	tree := look(t, server.bucket(nil))
	server.breakWith(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	quick := server.bucket(func(b *Bucket) { b.Timeout = 200 * time.Millisecond })
	_, err := New().Look(t.Context(), quick, false)
	wantFailure(t, err, reasonOperation, false, "it took longer than spec.timeout allows")
	tree.wanted = quick
	wantFailure(t, tree.Fetch(t.Context(), t.TempDir()), reasonOperation, false, "it took longer than spec.timeout allows")
}

func TestAnEndlessAnswer(t *testing.T) {
	server := plainS3(t)
	server.put(t, "a", "1")
	server.breakWith(func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(w, endless{})
		return true
	})
	_, err := New().Look(t.Context(), server.bucket(nil), false)
	wantFailure(t, err, reasonOperation, false, "the size of .sourceignore in bytes exceeds the limit")
	server.breakWith(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, ".sourceignore") {
			return false
		}
		_, _ = io.Copy(w, io.MultiReader(strings.NewReader("<ListBucketResult>"), endless{}))
		return true
	})
	_, err = New().Look(t.Context(), server.bucket(nil), false)
	wantFailure(t, err, reasonOperation, false, "the size of a response in bytes exceeds the limit")
}

// endless is nothing but spaces.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte(" "), len(p))), nil }
