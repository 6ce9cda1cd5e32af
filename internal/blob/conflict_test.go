// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/blob"
)

// S3 answers a conditional request with 409 if another one for the same object is in progress.
func TestCreateMeetsAnotherRequestInS3(t *testing.T) {
	for sentence, there := range map[string]bool{"it created the object": true, "it deleted the object": false} {
		t.Run(sentence, func(t *testing.T) {
			s3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body) //nolint:errcheck // the client is the test
				switch {
				case r.Method == http.MethodHead && there:
					w.Header().Set("Content-Length", "1")
				case r.Method == http.MethodHead:
					w.WriteHeader(http.StatusNotFound)
				default:
					w.WriteHeader(http.StatusConflict)
					fmt.Fprint(w, `<Error><Code>ConditionalRequestConflict</Code><Message>try again</Message></Error>`)
				}
			}))
			defer s3.Close()
			t.Setenv("AWS_ACCESS_KEY_ID", "test")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
			bucket, err := blob.OpenPlain(t.Context(), "s3://b?region=us-east-1&use_path_style=true&endpoint="+s3.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer bucket.Close()
			if err := bucket.Create(t.Context(), "a/b", strings.NewReader("x")); err == nil || errors.Is(err, blob.ErrExists) != there {
				t.Errorf("%v", err)
			}
		})
	}
}
