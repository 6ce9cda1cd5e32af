// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ssmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// call makes a signed call, after a change of the request.
func (s *Server) call(t *testing.T, action, body string, change func(*http.Request)) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "AmazonSSM."+action)
	sum := sha256.Sum256([]byte(body))
	err = v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: SecretKey}, r, hex.EncodeToString(sum[:]), "ssm", Region, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	change(r)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func asSigned(*http.Request) {}

func TestOnlySignedRequestsAreCalls(t *testing.T) {
	s := New(t)
	const get = `{"Name":"/a"}`
	for says, change := range map[string]func(*http.Request){
		"ParameterNotFound":                   asSigned,
		"MissingAuthenticationTokenException": func(r *http.Request) { r.Header.Del("Authorization") },
		"InvalidSignatureException":           func(r *http.Request) { r.Body = io.NopCloser(bytes.NewReader([]byte(`{"Name":"/b"}`))) },
		"UnrecognizedClientException": func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), AccessKey, "AKIAOTHER", 1))
		},
		"Credential should be scoped": func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), Region, "us-east-1", 1))
		},
		"Signature expired: 20200101T000000Z": func(r *http.Request) { r.Header.Set("X-Amz-Date", "20200101T000000Z") },
		"The request signature we calculated": func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonSSM.DeleteParameter") },
	} {
		if text := s.call(t, "GetParameter", get, change); !strings.Contains(text, says) {
			t.Errorf("%s, want %q", text, says)
		}
	}
	if calls := fmt.Sprint(s.Take()); calls != "[GetParameter]" {
		t.Error("calls:", calls)
	}
}

// TestPages: a listing is complete although parameters come and go while it is read.
func TestPages(t *testing.T) {
	s := New(t)
	for i := range 25 {
		s.Set(fmt.Sprintf("/a/p%02d", i), "v")
	}
	var names []string
	for token := ""; ; {
		var page struct {
			Parameters []struct{ Name, Value string }
			NextToken  string
		}
		text := s.call(t, "GetParametersByPath", fmt.Sprintf(`{"Path":"/a","MaxResults":10,"NextToken":%q}`, token), asSigned)
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			t.Fatal(text)
		}
		for _, p := range page.Parameters {
			names = append(names, p.Name)
			if p.Value == "v" {
				t.Fatal("a SecureString is shown without decryption")
			}
		}
		s.call(t, "DeleteParameter", `{"Name":"/a/p09"}`, asSigned)
		if token = page.NextToken; token == "" {
			break
		}
	}
	if len(names) != 25 {
		t.Fatal(len(names), names)
	}
}

func TestRefusals(t *testing.T) {
	s := New(t)
	put := func(name, more string) string {
		return s.call(t, "PutParameter", fmt.Sprintf(`{"Name":%q,"Type":"String",%s}`, name, more), asSigned)
	}
	if text := put("/a", `"Value":"1"`); !strings.Contains(text, `"Version":1`) {
		t.Fatal(text)
	}
	for _, test := range []struct{ name, more, says string }{
		{"/a", `"Value":"2"`, "ParameterAlreadyExists"},
		{"/a", `"Value":"2","Overwrite":true,"Tags":[{"Key":"k","Value":"v"}]`, "tags and overwrite can't be used together"},
		{"/a", `"Value":""`, "length greater than or equal to 1"},
		{"/b", `"Value":"` + strings.Repeat("x", 4097) + `"`, "Standard tier parameters support a maximum"},
		{"/b", `"Value":"` + strings.Repeat("x", 8193) + `","Tier":"Advanced"`, "Advanced tier parameters support a maximum"},
		{"/b", `"Value":"{{a}}"`, "can't nest"},
		{"/aws/b", `"Value":"1"`, "can't be prefixed"},
		{"a/b", `"Value":"1"`, "fully qualified"},
		{"/" + strings.Repeat("a/", 15) + "b", `"Value":"1"`, "HierarchyLevelLimitExceededException"},
		{"/b", `"Value":"1","Unknown":1`, "SerializationException"},
	} {
		if text := put(test.name, test.more); !strings.Contains(text, test.says) {
			t.Errorf("%s %.40s: %s, want %q", test.name, test.more, text, test.says)
		}
	}
}
