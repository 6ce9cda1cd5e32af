// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/memblob"   // mem://
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"
)

// cloud is a bucket behind gocloud.dev/blob. Object stores publish an object, durably, when its
// writer is closed.
type cloud struct {
	objects *blob.Bucket
}

func openCloud(ctx context.Context, rawURL string) (*cloud, error) {
	objects, err := blob.OpenBucket(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	return &cloud{objects: objects}, nil
}

func (c *cloud) write(ctx context.Context, key string, fill func(io.Writer) error) error {
	return c.fill(ctx, key, fill, blob.WriterOptions{})
}

func (c *cloud) create(ctx context.Context, key string, fill func(io.Writer) error) error {
	return c.createWith(ctx, key, fill, blob.WriterOptions{IfNotExist: true})
}

// createLocked creates an object in the compliance mode of S3's object lock: not even the account's
// owner deletes it before the time.
func (c *cloud) createLocked(ctx context.Context, key string, until time.Time, fill func(io.Writer) error) error {
	return c.createWith(ctx, key, fill, blob.WriterOptions{IfNotExist: true, BeforeWrite: func(as func(any) bool) error {
		var upload *transfermanager.UploadObjectInput
		if !as(&upload) {
			return errors.New("this store cannot lock an object until a time; only S3 can")
		}
		upload.ObjectLockMode, upload.ObjectLockRetainUntilDate = types.ObjectLockModeCompliance, &until
		return nil
	}})
}

func (c *cloud) createWith(ctx context.Context, key string, fill func(io.Writer) error, options blob.WriterOptions) error {
	err := c.fill(ctx, key, fill, options)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return ErrExists
	}
	// S3 has another code for a request that met one in progress for the same object, which may have
	// created it, or deleted it.
	var answer interface{ ErrorCode() string }
	if errors.As(err, &answer) && answer.ErrorCode() == "ConditionalRequestConflict" {
		if _, missing := c.stat(ctx, key); missing == nil {
			return ErrExists
		}
	}
	return err
}

func (c *cloud) fill(ctx context.Context, key string, fill func(io.Writer) error, options blob.WriterOptions) error {
	// Cancelling the context before Close tells gocloud not to publish the object.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options.ContentType = "application/octet-stream"
	w, err := c.objects.NewWriter(ctx, key, &options)
	if err != nil {
		return err
	}
	if err := fill(w); err != nil {
		cancel()
		_ = w.Close() // reports the cancellation
		return err
	}
	return w.Close()
}

func (c *cloud) open(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := c.objects.NewReader(ctx, key, nil)
	if err != nil {
		return nil, cloudError(err)
	}
	return r, nil
}

func (c *cloud) stat(ctx context.Context, key string) (Info, error) {
	attributes, err := c.objects.Attributes(ctx, key)
	if err != nil {
		return Info{}, cloudError(err)
	}
	return Info{Key: key, Size: attributes.Size, Modified: attributes.ModTime}, nil
}

func (c *cloud) remove(ctx context.Context, key string) error {
	err := cloudError(c.objects.Delete(ctx, key))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (c *cloud) list(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		c.each(ctx, &blob.ListOptions{Prefix: prefix}, func(object *blob.ListObject, err error) bool {
			return yield(Info{Key: object.Key, Size: object.Size, Modified: object.ModTime}, err)
		})
	}
}

func (c *cloud) folders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		c.each(ctx, &blob.ListOptions{Prefix: prefix, Delimiter: "/"}, func(object *blob.ListObject, err error) bool {
			return err == nil && !object.IsDir || yield(object.Key, err)
		})
	}
}

// each yields the objects until yield returns false, and ends with the first error.
func (c *cloud) each(ctx context.Context, options *blob.ListOptions, yield func(*blob.ListObject, error) bool) {
	for objects := c.objects.List(options); ; {
		object, err := objects.Next(ctx)
		if err == io.EOF {
			return
		}
		if err != nil {
			yield(&blob.ListObject{}, err)
			return
		}
		if !yield(object, nil) {
			return
		}
	}
}

func (c *cloud) spool() string { return "" }

func (c *cloud) close() error { return c.objects.Close() }

func cloudError(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return ErrNotFound
	}
	return err
}
