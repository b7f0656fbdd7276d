package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is a store in an S3 bucket. Its keys come from the environment, a file of the AWS tools or
// the role of the machine, and appear nowhere else.
type bucket struct {
	client         *minio.Client
	bucket, prefix string
}

// endpoint of the service, unless AWS_ENDPOINT_URL says another.
const endpoint = "https://s3.amazonaws.com"

func openBucket(ctx context.Context, place string) (Store, error) {
	name, prefix, _ := strings.Cut(place, "/")
	if name == "" {
		return nil, errors.New("s3:// needs a bucket: s3://bucket/prefix")
	}
	at := endpoint
	for _, variable := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
		if text := os.Getenv(variable); text != "" {
			at = text
		}
	}
	host, secure := strings.CutPrefix(at, "https://")
	client, err := minio.New(strings.TrimSuffix(strings.TrimPrefix(host, "http://"), "/"), &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
		Secure: secure, Region: os.Getenv("AWS_REGION"),
	})
	if err != nil {
		return nil, fmt.Errorf("s3://%s: %w", name, err)
	}
	b := &bucket{client: client, bucket: name, prefix: strings.Trim(prefix, "/")}
	if ok, err := client.BucketExists(ctx, name); err != nil || !ok {
		return nil, fmt.Errorf("s3://%s: there is no such bucket, or no key for it%s", name, reason(err))
	}
	return b, nil
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// IsGuarded reports whether a store refuses a second file of a name. A bucket is asked, under a
// name of this process alone: another one that asks at the same time must not change the answer.
func IsGuarded(ctx context.Context, s Store) (bool, error) {
	b, ok := s.(*bucket)
	if !ok {
		return true, nil
	}
	name, nothing := unfinishedName(), func(io.Writer) error { return nil }
	defer b.Remove(context.WithoutCancel(ctx), name)
	if _, err := b.Create(ctx, name, nothing); err != nil {
		return false, fmt.Errorf("%s: %w", b, err)
	}
	again, err := b.Create(ctx, name, nothing)
	return err == nil && !again, nil
}

func (b *bucket) String() string { return strings.TrimSuffix("s3://"+b.bucket+"/"+b.prefix, "/") }

func (b *bucket) object(name string) string {
	if b.prefix == "" {
		return name
	}
	return b.prefix + "/" + name
}

func (b *bucket) Create(ctx context.Context, name string, write func(io.Writer) error) (bool, error) {
	data, err := collected(write)
	if err != nil {
		return false, err
	}
	var o minio.PutObjectOptions
	o.SetMatchETagExcept("*") // which a service that knows no conditions ignores
	_, err = b.client.PutObject(ctx, b.bucket, b.object(name), bytes.NewReader(data), int64(len(data)), o)
	if code := minio.ToErrorResponse(err).StatusCode; code == 412 || code == 409 {
		return false, nil
	}
	return err == nil, err
}

func (b *bucket) Read(ctx context.Context, name string) ([]byte, error) {
	o, err := b.client.GetObject(ctx, b.bucket, b.object(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	defer o.Close()
	data, err := io.ReadAll(o)
	if minio.ToErrorResponse(err).StatusCode == 404 {
		return nil, fs.ErrNotExist
	}
	return data, err
}

func (b *bucket) Names(ctx context.Context) (out []string, err error) {
	for o := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.object(""), Recursive: false}) {
		if o.Err != nil {
			return nil, o.Err
		}
		name := strings.TrimPrefix(o.Key, b.object(""))
		if name != "" && !strings.HasSuffix(name, "/") && !strings.HasPrefix(name, unfinished) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (b *bucket) Remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.bucket, b.object(name), minio.RemoveObjectOptions{})
}
