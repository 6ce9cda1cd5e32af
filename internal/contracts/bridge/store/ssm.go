// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// SSM is a parameter of Systems Manager.
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
	if code := new(AWSError); errors.As(err, &code) && code.Has("ParameterNotFound") {
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
	if code := new(AWSError); errors.As(err, &code) {
		switch {
		case code.Has("ParameterAlreadyExists"):
			err = ErrMoved
		case code.Has("ValidationException"), code.Has("HierarchyTypeMismatchException"), code.Has("HierarchyLevelLimitExceededException"):
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
	if code := new(AWSError); errors.As(err, &code) && code.Has("ParameterNotFound") {
		return nil
	}
	if err != nil {
		return failed("remove", s.Name(), err)
	}
	return nil
}

func (s *SSM) call(ctx context.Context, action string, in, out any) error {
	return (&AWS{Region: s.Region, Endpoint: s.Endpoint, Keys: s.Keys, Client: s.Client}).Call(ctx, "ssm", "AmazonSSM."+action, in, out)
}
