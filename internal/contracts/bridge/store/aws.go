// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Keys sign requests to AWS.
type Keys struct{ ID, Secret, Session string }

func (k Keys) credentials() aws.Credentials {
	return aws.Credentials{AccessKeyID: k.ID, SecretAccessKey: k.Secret, SessionToken: k.Session}
}

// AWS calls services that speak the protocol JSON 1.1: Systems Manager and Secrets Manager. The few calls that
// Yuba needs are written here, because AWS's library for one of these services has 4 MB.
type AWS struct {
	Region, Endpoint string
	Keys             Keys
	// Client reaches Endpoint; nil for one that reaches private addresses, too.
	Client *http.Client
}

// AWSError is a refusal of a service.
type AWSError struct {
	Type    string `json:"__type"`
	Message string `json:"message"`
}

// maxMessage bounds what is shown of a refusal.
const maxMessage = 300

// Error is shown in conditions. The messages of signature errors quote the request that the service computed, with the
// session token among its headers.
func (e *AWSError) Error() string {
	said := strings.Join(strings.Fields(e.Message), " ")
	if strings.Contains(e.Type, "Signature") || strings.Contains(strings.ToLower(said), "x-amz-") {
		said = "the service does not accept the signature of the request. Check the keys, the region and the clock"
	}
	if len(said) > maxMessage {
		said = strings.ToValidUTF8(said[:maxMessage], "") + "…"
	}
	return strings.TrimSuffix(e.short()+": "+said, ": ")
}

// short is the type without its namespace.
func (e *AWSError) short() string { return e.Type[strings.LastIndexByte(e.Type, '#')+1:] }

// Has reports whether the refusal has a code, such as ParameterNotFound.
func (e *AWSError) Has(code string) bool { return e.short() == code }

// Call makes a call: service is the first part of the host's name, and target names the call.
func (a *AWS) Call(ctx context.Context, service, target string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	url := cmp.Or(a.Endpoint, "https://"+service+"."+a.Region+".amazonaws.com")
	if a.Endpoint == "" && strings.HasPrefix(a.Region, "cn-") {
		url += ".cn"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(url, "/")+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", target)
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, a.Keys.credentials(), r, hex.EncodeToString(sum[:]), service, a.Region, time.Now()); err != nil {
		return fmt.Errorf("sign the request: %w", err)
	}
	answer, err := clientOr(a.Client).Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	text, err := limited(answer.Body, Limit)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		code := &AWSError{}
		if json.Unmarshal(text, code) != nil || code.Type == "" {
			return fmt.Errorf("the service answers %s", answer.Status)
		}
		return code
	}
	if err := json.Unmarshal(text, out); err != nil {
		return errors.New("the service's answer is not the expected JSON")
	}
	return nil
}
