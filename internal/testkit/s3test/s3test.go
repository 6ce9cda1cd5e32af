// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package s3test starts a real S3 server, versitygw, on a directory of the test.
package s3test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The account of the server is that of package ssmtest, so that a program can use both.
const (
	AccessKey = ssmtest.AccessKey
	SecretKey = ssmtest.SecretKey
	Region    = ssmtest.Region
)

// Server is a running server.
type Server struct {
	URL    string
	Bucket string

	dir string
}

// New starts a server that has one bucket, and ends it with the test.
func New(t testing.TB, bucket string) *Server {
	t.Helper()
	program := filepath.Join(tofutest.RepositoryRoot(t), "bin", "versitygw")
	if _, err := os.Stat(program); err != nil {
		t.Fatal("there is no S3 server. Build it:\n    make bin/versitygw")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--port", address, "--region", Region, "posix", dir)
	cmd.Env = []string{"ROOT_ACCESS_KEY=" + AccessKey, "ROOT_SECRET_KEY=" + SecretKey, "HOME=" + dir}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may be gone already
		cmd.Wait()         //nolint:errcheck // killed, of course
	})
	s := &Server{URL: "http://" + address, Bucket: bucket, dir: filepath.Join(dir, bucket)}
	alive := &http.Client{Timeout: 10 * time.Second}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if r, err := alive.Get(s.URL); err == nil {
			r.Body.Close() //nolint:errcheck // read nothing of it
			return s
		} else if time.Now().After(deadline) {
			t.Fatalf("the S3 server does not start: %v", err)
		}
	}
}

// Environment returns the variables that make AWS's SDK and the provider use the server.
func (s *Server) Environment() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey, "AWS_REGION=" + Region,
		"AWS_ENDPOINT_URL_S3=" + s.URL, "AWS_EC2_METADATA_DISABLED=true",
	}
}

// Object returns the content of an object, or nil.
func (s *Server) Object(t testing.TB, key string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(key)))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return content
}

// Put writes an object as somebody else does.
func (s *Server) Put(t testing.TB, key, content string) {
	t.Helper()
	_, err := s.client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &s.Bucket, Key: &key, Body: strings.NewReader(content)})
	if err != nil {
		t.Fatal(err)
	}
}

// Remove removes an object as somebody else does.
func (s *Server) Remove(t testing.TB, key string) {
	t.Helper()
	if _, err := s.client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: &key}); err != nil {
		t.Fatal(err)
	}
}

// CreateLocking creates a bucket with object lock.
func (s *Server) CreateLocking(t testing.TB, bucket string) {
	t.Helper()
	lock := true
	if _, err := s.client().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket, ObjectLockEnabledForBucket: &lock}); err != nil {
		t.Fatal(err)
	}
}

// LockedUntil returns until when an object cannot be deleted, and in which mode, and tries to delete it.
func (s *Server) LockedUntil(t testing.TB, bucket, key string) (until time.Time, mode string, deletion error) {
	t.Helper()
	got, err := s.client().GetObjectRetention(t.Context(), &s3.GetObjectRetentionInput{Bucket: &bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	_, deletion = s.client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: &key})
	return *got.Retention.RetainUntilDate, string(got.Retention.Mode), deletion
}

func (s *Server) client() *s3.Client {
	return s3.New(s3.Options{BaseEndpoint: &s.URL, Region: Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, "")})
}
