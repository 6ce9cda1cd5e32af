// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/yuba-dev/yuba/internal/gitops/sources/identity"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// s3Store speaks S3.
type s3Store struct {
	client *s3.Client
	bucket string
}

func (b *Bucket) openS3() (store, error) {
	if strings.ContainsAny(b.Endpoint, "/@?# ") || b.Endpoint == "" {
		return nil, upstream.Stalled(reasonURLInvalid, nil, "spec.endpoint must be a host with an optional port, such as s3.amazonaws.com or minio.example.com:9000")
	}
	client, err := b.httpClient()
	if err != nil {
		return nil, err
	}
	var who aws.CredentialsProvider = aws.AnonymousCredentials{}
	if b.Identity {
		who = identity.S3(context.Background(), b.region())
	}
	if b.Credentials != nil {
		if b.credential(accessKey) == "" || b.credential(secretKey) == "" {
			return nil, badCredentials("the Secret of spec.secretRef needs the entries accesskey and secretkey", nil)
		}
		who = credentials.NewStaticCredentialsProvider(b.credential(accessKey), b.credential(secretKey), "")
	}
	return &s3Store{bucket: b.Name, client: s3.New(s3.Options{
		BaseEndpoint: aws.String(b.scheme() + b.Endpoint), Region: b.region(), Credentials: who, HTTPClient: client,
		// Only the large clouds have a host name for each bucket.
		UsePathStyle: !strings.HasSuffix(b.Endpoint, ".amazonaws.com") && !strings.HasSuffix(b.Endpoint, ".amazonaws.com.cn") && !strings.HasSuffix(b.Endpoint, ".aliyuncs.com"),
		Retryer:      retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = 2 }),
		// Other stores than Amazon's do not support these checksums.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})}, nil
}

// amazonHost matches endpoints that contain their region.
var amazonHost = regexp.MustCompile(`^s3[.-](?:dualstack\.)?([a-z]{2}-[a-z-]+-[0-9]+)\.amazonaws\.com(?:\.cn)?$`)

// region returns the region to sign requests for.
func (b *Bucket) region() string {
	if found := amazonHost.FindStringSubmatch(b.Endpoint); found != nil && b.Region == "" {
		return found[1]
	}
	return cmp.Or(b.Region, "us-east-1")
}

func (s *s3Store) list(ctx context.Context, prefix string, visit func(object) error) error {
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(prefix)}
	for {
		page, err := s.client.ListObjectsV2(ctx, in)
		if err != nil {
			return err
		}
		for _, item := range page.Contents {
			o := object{key: aws.ToString(item.Key), etag: trimETag(aws.ToString(item.ETag)), size: -1}
			if item.Size != nil {
				o.size = *item.Size
			}
			if err := visit(o); err != nil {
				return err
			}
		}
		next := aws.ToString(page.NextContinuationToken)
		if !aws.ToBool(page.IsTruncated) {
			return nil
		}
		if next == "" || next == aws.ToString(in.ContinuationToken) {
			return errMalformed // an incomplete list must not pass as complete
		}
		in.ContinuationToken = &next
	}
}

func (s *s3Store) open(ctx context.Context, o object) (content, error) {
	return unlessChanged(s.get(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &o.key, IfMatch: aws.String(`"` + o.etag + `"`)}))
}

func (s *s3Store) peek(ctx context.Context, key string) (content, error) {
	c, err := s.get(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	var code smithy.APIError
	if errors.As(err, &code) && code.ErrorCode() == "NoSuchKey" {
		return content{}, errGone
	}
	return c, err
}

func (s *s3Store) get(ctx context.Context, in *s3.GetObjectInput) (content, error) {
	out, err := s.client.GetObject(upstream.Content(ctx), in)
	if err != nil {
		return content{}, err
	}
	return content{out.Body, trimETag(aws.ToString(out.ETag))}, nil
}
