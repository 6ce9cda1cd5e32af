// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// S3 is an object in a bucket.
type S3 struct {
	Bucket, Key, Region, Endpoint string
	Keys                          Keys
	// Client reaches Endpoint; nil for one that reaches private addresses, too.
	Client *http.Client
}

// Name implements [Store].
func (s *S3) Name() string { return "s3 " + s.Bucket + "/" + s.Key }

func (s *S3) client() *s3.Client {
	o := s3.Options{
		Region: s.Region, HTTPClient: clientOr(s.Client), Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider(s.Keys.ID, s.Keys.Secret, s.Keys.Session),
		// Other stores than Amazon's do not support these checksums.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if s.Endpoint != "" {
		o.BaseEndpoint, o.UsePathStyle = &s.Endpoint, true
	}
	return s3.New(o)
}

// coded says whether the service refuses with one of the codes.
func coded(err error, codes ...string) bool {
	var e smithy.APIError
	if !errors.As(err, &e) {
		return false
	}
	for _, code := range codes {
		if e.ErrorCode() == code {
			return true
		}
	}
	return false
}

// Read implements [Store].
func (s *S3) Read(ctx context.Context) (Document, error) {
	out, err := s.client().GetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: &s.Key})
	if coded(err, "NoSuchKey") {
		return Document{}, nil
	}
	if err != nil {
		return Document{}, failed("read", s.Name(), short(err))
	}
	defer out.Body.Close() //nolint:errcheck // only read
	content, err := limited(out.Body, Limit)
	if err != nil {
		return Document{}, failed("read", s.Name(), err)
	}
	return Document{content, aws.ToString(out.ETag)}, nil
}

// Write implements [Store].
func (s *S3) Write(ctx context.Context, content []byte, over string) error {
	in := &s3.PutObjectInput{Bucket: &s.Bucket, Key: &s.Key, Body: bytes.NewReader(content), ContentType: aws.String("application/json")}
	if over == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &over
	}
	_, err := s.client().PutObject(ctx, in)
	if coded(err, "PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey") {
		err = ErrMoved
	}
	if err != nil {
		return failed("write", s.Name(), short(err))
	}
	return nil
}

// Delete implements [Store]. General-purpose buckets cannot compare and delete in one step.
func (s *S3) Delete(ctx context.Context, tag string) error {
	now, err := s.Read(ctx)
	if err != nil || now.Tag == "" {
		return err
	}
	if now.Tag != tag {
		return failed("remove", s.Name(), ErrMoved)
	}
	if _, err := s.client().DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: &s.Key}); err != nil {
		return failed("remove", s.Name(), short(err))
	}
	return nil
}

// short leaves out the ids of the request.
func short(err error) error {
	var e smithy.APIError
	if errors.As(err, &e) {
		return errors.New(e.ErrorCode() + ": " + e.ErrorMessage())
	}
	return err
}
