// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/s3test"
)

// LockedS3 starts versitygw with one bucket, and dynalite with a table for its locks.
func LockedS3(t testing.TB, bucket, table string) *Server {
	t.Helper()
	objects := s3test.New(t, bucket)
	address, number := port(t)
	s := &Server{Secret: map[string]string{"access_key": s3test.AccessKey, "secret_key": s3test.SecretKey}}
	dynalite := exec.Command("node", program(t, "backends", "node_modules", "dynalite", "cli.js"), "--host", "127.0.0.1", "--port", number, "--createTableMs", "0")
	dynalite.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	start(t, address, dynalite)
	front := httptest.NewServer(s.guarded(address, "Credential="+s3test.AccessKey+"/"))
	t.Cleanup(front.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, strings.NewReader(`{"TableName":"`+table+`","BillingMode":"PAY_PER_REQUEST",`+
		`"AttributeDefinitions":[{"AttributeName":"LockID","AttributeType":"S"}],"KeySchema":[{"AttributeName":"LockID","KeyType":"HASH"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.CreateTable")
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s3test.AccessKey+"/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	must(t, req, http.StatusOK)
	s.Settings = map[string]string{"bucket": bucket, "key": "live.tfstate", "region": s3test.Region, "dynamodb_table": table,
		"endpoints.s3": objects.URL, "endpoints.dynamodb": front.URL, "use_path_style": "true",
		"skip_credentials_validation": "true", "skip_requesting_account_id": "true", "skip_metadata_api_check": "true"}
	return s
}
