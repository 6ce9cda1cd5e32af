// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"fmt"
	"io"
	"os"

	azure "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"golang.org/x/sys/unix"
)

// Version identifies what a reader of [Plain.Open] reads: an object that is replaced or changed has
// another version. It costs no request. It is empty if the version is unknown.
//
// In a directory it has the inode and the time of its last change, which no program can set; in S3
// and Azure the entity tag. Google's buckets report a time in seconds, so that two objects of the
// same size within a second have the same version.
func Version(r io.Reader) string {
	switch r := r.(type) {
	case *os.File:
		var stat unix.Stat_t
		if unix.Fstat(int(r.Fd()), &stat) != nil { //nolint:gosec // descriptors are small
			return ""
		}
		return fmt.Sprintf("%d %d %d %d", stat.Size, stat.Ino, stat.Mtim.Nano(), stat.Ctim.Nano())
	case *blob.Reader:
		return fmt.Sprintf("%d %d %s", r.Size(), r.ModTime().UnixNano(), entityTag(r))
	}
	return ""
}

// entityTag returns the tag that the store gives an object's content; empty if it gives none.
func entityTag(r *blob.Reader) string {
	var amazon s3.GetObjectOutput
	if r.As(&amazon) && amazon.ETag != nil {
		return *amazon.ETag
	}
	var microsoft azure.DownloadStreamResponse
	if r.As(&microsoft) && microsoft.ETag != nil {
		return string(*microsoft.ETag)
	}
	return ""
}
