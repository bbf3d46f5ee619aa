# The image of the tool sluice alone, with sample captures. tool-image.sh makes the folder root/.
# It has neither shell nor library, and runs as an ordinary user.
FROM scratch
COPY root/ /
USER 65534:65534
WORKDIR /captures
ENTRYPOINT ["/usr/bin/sluice"]
CMD ["doctor", "one-port-ipv6.pcap"]
