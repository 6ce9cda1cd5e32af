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
	"strconv"
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

// SSM is a parameter of Systems Manager. Its five calls are written here: AWS's library for the service
// has 4 MB.
type SSM struct {
	Parameter, Region, Type, KeyID, Endpoint string
	Keys                                     Keys
	// Client reaches Endpoint; nil for one that reaches private addresses, too.
	Client *http.Client
}

// The limits of values: above the first one, a parameter is an advanced one.
const ssmLimit = 8 << 10

// Room is how many bytes a parameter has.
func (*SSM) Room() int { return ssmLimit }

// Name implements [Store].
func (s *SSM) Name() string { return "ssm " + s.Parameter + " in " + s.Region }

type parameter struct {
	Value   string
	Version int64
}

// Read implements [Store].
func (s *SSM) Read(ctx context.Context) (Document, error) {
	var out struct{ Parameter parameter }
	err := s.call(ctx, "GetParameter", map[string]any{"Name": s.Parameter, "WithDecryption": true}, &out)
	if code := new(ssmError); errors.As(err, &code) && code.is("ParameterNotFound") {
		return Document{}, nil
	}
	if err != nil {
		return Document{}, failed("read", s.Name(), err)
	}
	return Document{[]byte(out.Parameter.Value), strconv.FormatInt(out.Parameter.Version, 10)}, nil
}

// Write implements [Store].
func (s *SSM) Write(ctx context.Context, content []byte, over string) error {
	switch {
	case len(content) > ssmLimit:
		return failed("write", s.Name(), refused("the document has %d bytes, and a parameter has at most %d. Write less of it with spec.reads, or use S3", len(content), ssmLimit))
	case bytes.Contains(content, []byte("{{")):
		return failed("write", s.Name(), refused("the document contains {{, which SSM refuses"))
	}
	in := map[string]any{"Name": s.Parameter, "Value": string(content), "Type": cmp.Or(s.Type, "SecureString"),
		"Overwrite": over != "", "Tier": "Intelligent-Tiering"}
	if s.KeyID != "" && in["Type"] == "SecureString" {
		in["KeyId"] = s.KeyID
	}
	if over != "" {
		now, err := s.Read(ctx)
		if err != nil {
			return err
		}
		if now.Tag != over {
			return failed("write", s.Name(), ErrMoved)
		}
	}
	var out struct{ Version int64 }
	err := s.call(ctx, "PutParameter", in, &out)
	if code := new(ssmError); errors.As(err, &code) {
		switch {
		case code.is("ParameterAlreadyExists"):
			err = ErrMoved
		case code.is("ValidationException"), code.is("HierarchyTypeMismatchException"), code.is("HierarchyLevelLimitExceededException"):
			err = refused("%v", err)
		}
	}
	if err != nil {
		return failed("write", s.Name(), err)
	}
	if was, _ := strconv.ParseInt(over, 10, 64); over != "" && out.Version != was+1 {
		return failed("write", s.Name(), fmt.Errorf("somebody else wrote version %d at the same time; it was replaced, and is in the parameter's history", out.Version-1))
	}
	return nil
}

// Delete implements [Store].
func (s *SSM) Delete(ctx context.Context, tag string) error {
	now, err := s.Read(ctx)
	if err != nil || now.Tag == "" {
		return err
	}
	if now.Tag != tag {
		return failed("remove", s.Name(), ErrMoved)
	}
	err = s.call(ctx, "DeleteParameter", map[string]any{"Name": s.Parameter}, &struct{}{})
	if code := new(ssmError); errors.As(err, &code) && code.is("ParameterNotFound") {
		return nil
	}
	if err != nil {
		return failed("remove", s.Name(), err)
	}
	return nil
}

// ssmError is an answer of the service that refuses.
type ssmError struct {
	Type    string `json:"__type"`
	Message string `json:"message"`
}

func (e *ssmError) Error() string { return strings.TrimSuffix(e.short()+": "+e.Message, ": ") }

// short is the type without its namespace.
func (e *ssmError) short() string { return e.Type[strings.LastIndexByte(e.Type, '#')+1:] }

func (e *ssmError) is(code string) bool { return e.short() == code }

// call makes a call of the protocol JSON 1.1.
func (s *SSM) call(ctx context.Context, action string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	url := cmp.Or(s.Endpoint, "https://ssm."+s.Region+".amazonaws.com")
	if s.Endpoint == "" && strings.HasPrefix(s.Region, "cn-") {
		url += ".cn"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(url, "/")+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "AmazonSSM."+action)
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, s.Keys.credentials(), r, hex.EncodeToString(sum[:]), "ssm", s.Region, time.Now()); err != nil {
		return fmt.Errorf("sign the request: %w", err)
	}
	answer, err := clientOr(s.Client).Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	text, err := limited(answer.Body, Limit)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		code := &ssmError{}
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
